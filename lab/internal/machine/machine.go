// Package machine describes where figures were taken: what they depend on
// besides the code. It touches no payload bytes; its functions may be called from
// any goroutine.
package machine

import (
	"fmt"
	"reflect"
	"runtime"
	"runtime/metrics"
	"strings"
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

	Memory         int64   `json:"memory,omitempty"`         // bytes of the machine
	CPULimit       float64 `json:"cpu_limit,omitempty"`      // processors that a control group allows; 0 without a limit
	MemoryLimit    int64   `json:"memory_limit,omitempty"`   // bytes that a control group allows; 0 without a limit
	OpenFiles      uint64  `json:"open_files,omitempty"`     // the soft limit of the process; all ones is none
	Governor       string  `json:"governor,omitempty"`       // of the first processor's frequency
	Virtualization string  `json:"virtualization,omitempty"` // kvm, docker, or hypervisor where nothing more is known
	Sysctls        Sysctls `json:"sysctls,omitzero"`
}

// Sysctls are the kernel's settings that figures of a network server depend on,
// as the kernel writes them, with single spaces.
type Sysctls struct {
	SomaxConn  string `json:"net.core.somaxconn,omitempty"`
	MaxBacklog string `json:"net.core.netdev_max_backlog,omitempty"`
	RmemMax    string `json:"net.core.rmem_max,omitempty"`
	WmemMax    string `json:"net.core.wmem_max,omitempty"`
	TCPRmem    string `json:"net.ipv4.tcp_rmem,omitempty"`
	TCPWmem    string `json:"net.ipv4.tcp_wmem,omitempty"`
	Congestion string `json:"net.ipv4.tcp_congestion_control,omitempty"`
	SlowStart  string `json:"net.ipv4.tcp_slow_start_after_idle,omitempty"`
	Ports      string `json:"net.ipv4.ip_local_port_range,omitempty"`
	Overcommit string `json:"vm.overcommit_memory,omitempty"`
	Swappiness string `json:"vm.swappiness,omitempty"`
	HugePages  string `json:"transparent_hugepage,omitempty"`
}

// each calls f with each setting and its name.
func (s *Sysctls) each(f func(name string, value *string)) {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		f(name, v.Field(i).Addr().Interface().(*string))
	}
}

// This describes where and under which settings of the runtime the
// program runs.
func This() Machine {
	cpu, kernel := hardware()
	m := Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: kernel, CPU: strings.Join(strings.Fields(cpu), " "),
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
	surroundings(&m)
	return m
}

// Lines describes the machine in two short lines.
func (m Machine) Lines() [2]string {
	cpu := m.CPU
	if cpu == "" {
		cpu = "unknown processor"
	}
	first := fmt.Sprintf("%s, %d cores, %s/%s", cpu, m.Cores, m.OS, m.Arch)
	if m.Kernel != "" {
		first += " " + m.Kernel
	}
	second := fmt.Sprintf("%s, GOMAXPROCS %d, GOGC %s", m.Go, m.GOMAXPROCS, m.GOGC)
	if m.GOMEMLIMIT > 0 {
		second += fmt.Sprintf(", GOMEMLIMIT %d MiB", m.GOMEMLIMIT>>20)
	}
	return [2]string{first, second}
}
