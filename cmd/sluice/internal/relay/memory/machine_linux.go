package memory

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine returns how many bytes of memory the process can have: what the machine has, or less
// where its control groups (cgroups(7)), its resource limits or GOMEMLIMIT say so; 0 when that is
// not known.
func Machine() int64 {
	least := machine("/proc", "/sys/fs/cgroup")
	for _, l := range []struct {
		resource int
		used     string // line of the status with what counts
	}{{unix.RLIMIT_AS, "VmSize:"}, {unix.RLIMIT_DATA, "VmData:"}} {
		var r unix.Rlimit
		if unix.Getrlimit(l.resource, &r) == nil {
			least = smaller(least, room(r.Cur, kib("/proc/self/status", l.used)))
		}
	}
	return smaller(least, goLimit())
}

const (
	// arenas is what the runtime maps ahead of what it uses: an arena of 64 MiB for each of small
	// and large objects, and its tables for them.
	arenas = 192 << 20
	// leastRoom is what room returns at least.
	leastRoom = 32 << 20
)

// room is how much memory a process can take that uses so much of a limit, 0 for no limit. The
// runtime has mapped a gigabyte or more of addresses when the program begins.
func room(limit uint64, used int64) int64 {
	if limit > math.MaxInt64/2 {
		return 0
	}
	return max(int64(limit)-used-arenas, leastRoom)
}

// smaller is the smaller of two limits, of which 0 is none.
func smaller(a, b int64) int64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

func machine(proc, groups string) int64 {
	return smaller(kib(filepath.Join(proc, "meminfo"), "MemTotal:"), tightest(proc, groups).limit)
}

// kib is the number in a line of a file that has such a name and KiB, in bytes; 0 when there is none.
func kib(file, name string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == name {
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
	return number(strings.TrimSpace(string(text)))
}

// number is a number of bytes, 0 where there is none, or no limit.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/2 {
		return 0 // max
	}
	return n
}
