package machine

import (
	"strconv"

	"github.com/sluice-go/sluice/lab/internal/units"
)

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
		if value != "" && value != "0" {
			list = append(list, Fact{name, value, weighs})
		}
	}
	add(true, "processor", m.CPU)
	add(true, "cores", strconv.Itoa(m.Cores))
	add(false, "memory", size(m.Memory))
	if m.OS != "" || m.Arch != "" {
		add(true, "system", m.OS+"/"+m.Arch)
	}
	add(false, "kernel", m.Kernel)
	add(false, "Go", m.Go)
	add(true, "GOMAXPROCS", strconv.Itoa(m.GOMAXPROCS))
	add(true, "GOGC", m.GOGC)
	add(true, "GOMEMLIMIT", size(m.GOMEMLIMIT))
	add(false, "open files", files(m.OpenFiles))
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

func size(bytes int64) string {
	if bytes <= 0 {
		return ""
	}
	return units.Bytes(bytes)
}

func files(n uint64) string {
	switch {
	case n == 0:
		return ""
	case n >= 1<<62:
		return "unlimited"
	}
	return strconv.FormatUint(n, 10)
}
