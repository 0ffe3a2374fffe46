package memory

import (
	"os"
	"path/filepath"
	"strings"
)

// FindGroup returns the control group of this process whose limit of memory is the lowest
// (cgroups(7)). Without one its Limit is 0.
func FindGroup() Group {
	g := tightest("/proc", "/sys/fs/cgroup")
	return Group{Limit: g.limit, Used: g.used}
}

// A group is a control group, by its files; the zero value is none.
type group struct {
	dir   string
	limit int64
	usage string // the name of the file with what is in use
	total string // what names in memory.stat begin with that count the groups below, too
}

// tightest returns the group with the lowest limit, of which the process is a member or a
// member of one below.
func tightest(proc, groups string) (least group) {
	text, err := os.ReadFile(filepath.Join(proc, "self/cgroup"))
	if err != nil {
		return group{}
	}
	for line := range strings.Lines(string(text)) {
		// hierarchy:controllers:path; version 2 is hierarchy 0 and names none.
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 {
			continue
		}
		root, file, g := groups, "memory.max", group{usage: "memory.current"}
		if f[0] != "0" {
			if !strings.Contains(","+f[1]+",", ",memory,") {
				continue
			}
			root, file = filepath.Join(groups, "memory"), "memory.limit_in_bytes"
			g = group{usage: "memory.usage_in_bytes", total: "total_"}
		}
		for dir := filepath.Clean("/" + f[2]); ; dir = filepath.Dir(dir) {
			g.dir = filepath.Join(root, dir)
			if g.limit = limit(filepath.Join(g.dir, file)); g.limit > 0 && smaller(least.limit, g.limit) == g.limit {
				least = g
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}

// used returns how many bytes the group has of its limit, and how many of these for what
// sockets send and have received, which version 1 does not count. Files that the kernel keeps
// and can drop are not in use.
func (g group) used() (bytes, sockets int64) {
	bytes = limit(filepath.Join(g.dir, g.usage))
	text, err := os.ReadFile(filepath.Join(g.dir, "memory.stat"))
	if err != nil {
		return bytes, 0
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case g.total + "inactive_file", g.total + "active_file":
			bytes -= number(value)
		case "sock":
			sockets = number(value)
		}
	}
	return max(bytes, 0), sockets
}
