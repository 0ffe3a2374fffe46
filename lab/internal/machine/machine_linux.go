package machine

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
)

func (m *Machine) ask() {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	processors, _ := os.ReadFile("/proc/cpuinfo")
	memory, _ := os.ReadFile("/proc/meminfo")
	m.Kernel, m.CPU, m.Memory = strings.TrimSpace(string(release)), cpuModel(processors), memTotal(memory)
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		m.OpenFiles = limit.Cur
	}
}

func memTotal(info []byte) int64 {
	first, _, _ := strings.Cut(string(info), "\n")
	fields := strings.Fields(first)
	if len(fields) < 2 || fields[0] != "MemTotal:" {
		return 0
	}
	kib, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil || kib < 0 || kib > math.MaxInt64>>10 {
		return 0
	}
	return kib << 10
}

// cpuModel finds the name in /proc/cpuinfo. The key depends on the
// architecture; arm64 gives numbers only, which still distinguish machines.
func cpuModel(info []byte) string {
	values := map[string]string{}
	for line := range bytes.Lines(info) {
		key, value, _ := bytes.Cut(line, []byte(":"))
		name := strings.TrimSpace(string(key))
		if _, seen := values[name]; !seen {
			values[name] = strings.TrimSpace(string(value))
		}
	}
	for _, key := range []string{"model name", "cpu model", "cpu", "uarch", "Model"} {
		if values[key] != "" {
			return values[key]
		}
	}
	if part := values["CPU part"]; part != "" {
		return "implementer " + values["CPU implementer"] + " part " + part
	}
	return ""
}
