package machine

import (
	"bytes"
	"os"
	"strings"
)

func hardware() (cpu, kernel string) {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	info, _ := os.ReadFile("/proc/cpuinfo")
	return cpuModel(info), strings.TrimSpace(string(release))
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
