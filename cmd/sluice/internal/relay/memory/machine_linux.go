package memory

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Machine returns how many bytes of memory the machine has, or the smallest
// limit of the process's control groups if that is less (cgroups(7)); 0 when
// that is not known.
func Machine() int64 { return machine("/proc", "/sys/fs/cgroup") }

func machine(proc, groups string) int64 {
	least := total(filepath.Join(proc, "meminfo"))
	text, err := os.ReadFile(filepath.Join(proc, "self/cgroup"))
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(text)) {
		// hierarchy:controllers:path; version 2 is hierarchy 0 and names none.
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 {
			continue
		}
		root, file := groups, "memory.max"
		if f[0] != "0" {
			if !strings.Contains(","+f[1]+",", ",memory,") {
				continue
			}
			root, file = filepath.Join(groups, "memory"), "memory.limit_in_bytes"
		}
		for dir := filepath.Clean("/" + f[2]); ; dir = filepath.Dir(dir) {
			if n := limit(filepath.Join(root, dir, file)); n > 0 && (least == 0 || n < least) {
				least = n
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}

// total is the memory that meminfo says there is, or 0.
func total(name string) int64 {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "MemTotal:" {
			if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

// limit is the number in a file, 0 when there is none.
func limit(name string) int64 {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/2 {
		return 0 // max
	}
	return n
}
