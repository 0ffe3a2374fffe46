package machine

import (
	"bytes"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func (m *Machine) ask() {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	processors, _ := os.ReadFile("/proc/cpuinfo")
	m.Kernel, m.CPU = strings.TrimSpace(string(release)), cpuModel(processors)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.Memory = int64(info.Totalram) * int64(info.Unit)
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		m.OpenFiles = limit.Cur
	}
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
