// Package machine describes where figures were taken: what they depend on
// besides the code. It touches no payload bytes; its functions may be called from
// any goroutine.
package machine

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/units"
)

// A Machine is what figures depend on besides the code. What could not be
// found out is empty.
type Machine struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Kernel     string `json:"kernel,omitempty"`
	CPU        string `json:"cpu,omitempty"`
	Cores      int    `json:"cores"` // logical, usable by this process
	GOMAXPROCS int    `json:"gomaxprocs"`
	GOGC       string `json:"gogc"`                 // percent, or off
	GOMEMLIMIT int64  `json:"gomemlimit,omitempty"` // bytes; 0 without a limit
	Go         string `json:"go"`

	Memory    int64  `json:"memory,omitempty"`     // bytes of the machine
	OpenFiles uint64 `json:"open_files,omitempty"` // the soft limit of the process; all ones is none
}

// This describes where and under which settings of the runtime the
// program runs.
func This() Machine {
	m := Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH,
		Cores: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0), GOGC: "100", Go: runtime.Version(),
	}
	// The metrics say what holds, whether it came from the environment or
	// from a call.
	samples := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(samples)
	if v := samples[0].Value; v.Kind() == metrics.KindUint64 {
		m.GOGC = fmt.Sprint(v.Uint64())
		if v.Uint64() > 1<<31 {
			m.GOGC = "off"
		}
	}
	if v := samples[1].Value; v.Kind() == metrics.KindUint64 && v.Uint64() < 1<<62 {
		m.GOMEMLIMIT = int64(v.Uint64())
	}
	m.ask()
	m.CPU = strings.Join(strings.Fields(m.CPU), " ")
	return m
}

// Lines describes the machine in two short lines.
func (m Machine) Lines() [2]string {
	cpu := cmp.Or(m.CPU, "unknown processor")
	first := fmt.Sprintf("%s, %s, %s/%s", cpu, units.Plural(m.Cores, "core"), m.OS, m.Arch)
	if m.Kernel != "" {
		first += " " + m.Kernel
	}
	second := fmt.Sprintf("%s, GOMAXPROCS %d, GOGC %s", m.Go, m.GOMAXPROCS, m.GOGC)
	if m.GOMEMLIMIT > 0 {
		second += fmt.Sprintf(", GOMEMLIMIT %d MiB", m.GOMEMLIMIT>>20)
	}
	return [2]string{first, second}
}

// An Origin says what a file of results is and where it comes from.
type Origin struct {
	Kind        string    `json:"kind"`
	Schema      int       `json:"schema"`            // version of the kind's JSON
	Version     string    `json:"version,omitempty"` // of the program
	Command     []string  `json:"command,omitempty"`
	Machine     Machine   `json:"machine"`
	Started     time.Time `json:"started"`
	Interrupted bool      `json:"interrupted,omitempty"` // there is less than was asked for
}

// A Fact is one thing that is known of a machine.
type Fact struct {
	Name  string
	Value string
	// Weighs says that figures taken under another value are not comparable: of
	// the settings, those that change what the same program does.
	Weighs bool
}

// Facts lists everything that is known, in an order for people. What could not
// be found out is left out.
func (m Machine) Facts() []Fact {
	var list []Fact
	add := func(weighs bool, name, value string) {
		if value != "" && value != "0" && value != "0 B" {
			list = append(list, Fact{name, value, weighs})
		}
	}
	add(true, "processor", m.CPU)
	add(true, "cores", strconv.Itoa(m.Cores))
	add(false, "memory", units.Bytes(m.Memory))
	if m.OS != "" || m.Arch != "" {
		add(true, "system", m.OS+"/"+m.Arch)
	}
	add(false, "kernel", m.Kernel)
	add(false, "Go", m.Go)
	add(true, "GOMAXPROCS", strconv.Itoa(m.GOMAXPROCS))
	add(true, "GOGC", m.GOGC)
	add(true, "GOMEMLIMIT", units.Bytes(m.GOMEMLIMIT))
	open := strconv.FormatUint(m.OpenFiles, 10)
	if m.OpenFiles >= 1<<62 {
		open = "unlimited"
	}
	add(false, "open files", open)
	return list
}

// A Difference is a fact that two machines do not share. A value that only one
// of them knows is no difference: results of older programs know fewer.
type Difference struct {
	Name   string
	A, B   string
	Weighs bool
}

// Differences compares what both machines know.
func Differences(a, b Machine) []Difference {
	of := map[string]string{}
	for _, f := range b.Facts() {
		of[f.Name] = f.Value
	}
	var list []Difference
	for _, f := range a.Facts() {
		if other, ok := of[f.Name]; ok && other != f.Value {
			list = append(list, Difference{f.Name, f.Value, other, f.Weighs})
		}
	}
	return list
}
