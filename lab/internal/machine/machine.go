// Package machine describes where figures were taken: what they depend on
// besides the code. It touches no payload bytes; its functions may be called from
// any goroutine.
package machine

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"

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
	cpu := m.CPU
	if cpu == "" {
		cpu = "unknown processor"
	}
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
