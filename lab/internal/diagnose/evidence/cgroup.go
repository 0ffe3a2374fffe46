package evidence

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Quota is how often a control group was stopped since its quota of processor time was used up. Of
// groups within each other it is the one that was stopped for longest.
type Quota struct {
	Group      string        `json:"group"`      // its path, as /proc/PID/cgroup has it
	Processors float64       `json:"processors"` // that it may use; 0 not known
	Periods    int64         `json:"periods"`    // in which it had work
	Throttled  int64         `json:"throttled"`  // periods in which it was stopped
	Stopped    time.Duration `json:"stopped_ns"` // of all processors, added up
}

// throttled reads what a group counts, of all groups that a process is in. Both versions of control groups
// count: cgroups(7).
type throttled struct {
	root   fs.FS    // of the machine, "/"
	mount  string   // where the groups are
	groups []string // below it, the innermost first
}

// groupsOf finds the groups that may limit the processor time of a process.
func groupsOf(root fs.FS, pid int) (*throttled, error) {
	text, err := fs.ReadFile(root, fmt.Sprintf("proc/%d/cgroup", pid))
	if err != nil {
		return nil, missing("the control groups of the process could not be looked at: %v", err)
	}
	// Each line is NUMBER:CONTROLLERS:PATH; version 2 has one, with neither. Where both are in use the
	// processor belongs to one of them.
	group, version, found := "", "cgroup2", false
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, at, ok := strings.Cut(rest, ":")
		switch {
		case ok && slices.Contains(strings.Split(controllers, ","), "cpu"):
			group, version, found = at, "cgroup", true
		case ok && controllers == "" && !found:
			group, found = at, true
		}
	}
	if !found {
		return nil, missing("the process is in no control group that could limit its processor time")
	}
	mounts, _ := fs.ReadFile(root, "proc/self/mountinfo") // without it nothing is mounted
	for line := range strings.Lines(string(mounts)) {
		// ID PARENT DEVICE ROOT MOUNT OPTIONS ... - TYPE SOURCE OPTIONS: proc_pid_mountinfo(5)
		before, after, _ := strings.Cut(line, " - ")
		where, what := strings.Fields(before), strings.Fields(after)
		if len(where) < 5 || len(what) < 3 || what[0] != version || version == "cgroup" && !slices.Contains(strings.Split(what[2], ","), "cpu") {
			continue
		}
		// A container may have only a part of the tree, which its processes' paths begin with.
		below, ok := strings.CutPrefix(group, strings.TrimSuffix(where[3], "/"))
		if !ok || below != "" && below[0] != '/' || strings.HasPrefix(below, "/..") {
			continue
		}
		t := &throttled{root: root, mount: strings.TrimPrefix(where[4], "/")}
		for below = path.Clean("/" + below); ; below = path.Dir(below) {
			t.groups = append(t.groups, below)
			if below == "/" {
				return t, nil
			}
		}
	}
	return nil, missing("the control group %s could not be looked at: it is mounted nowhere here", group)
}

// read returns what each group has counted until now.
func (t *throttled) read() ([]Quota, error) {
	list := make([]Quota, len(t.groups))
	for i, group := range t.groups {
		q := &list[i]
		q.Group = group
		text, err := fs.ReadFile(t.root, path.Join(t.mount, group, "cpu.stat"))
		if err != nil {
			return nil, missing("the control group %s could not be looked at: %v", group, err)
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				continue
			}
			switch name {
			case "nr_periods":
				q.Periods = n
			case "nr_throttled":
				q.Throttled = n
			case "throttled_usec":
				q.Stopped = time.Duration(n) * time.Microsecond
			case "throttled_time":
				q.Stopped = time.Duration(n)
			}
		}
	}
	return list, nil
}

// processors is how many a group may use; 0 where there is no limit, or none that is known.
func (t *throttled) processors(group string) float64 {
	read := func(name string) string {
		text, _ := fs.ReadFile(t.root, path.Join(t.mount, group, name)) // the other version has other files
		return string(text)
	}
	fields := strings.Fields(read("cpu.max") + " " + read("cpu.cfs_quota_us") + " " + read("cpu.cfs_period_us"))
	if len(fields) != 2 {
		return 0
	}
	quota, err1 := strconv.ParseFloat(fields[0], 64)
	period, err2 := strconv.ParseFloat(fields[1], 64)
	if err1 != nil || err2 != nil || !(quota > 0) || !(period > 0) {
		return 0
	}
	return quota / period
}

// quotaOf is nil where the process was not stopped.
func quotaOf(ctx context.Context, pid int, d time.Duration) (*Quota, error) {
	groups, err := groupsOf(os.DirFS("/"), pid)
	if err != nil {
		return nil, err
	}
	before, err := groups.read()
	if err != nil {
		return nil, err
	}
	pause(ctx, d)
	after, err := groups.read()
	if err != nil {
		return nil, err
	}
	return groups.between(before, after), nil
}

func (t *throttled) between(before, after []Quota) *Quota {
	var most *Quota
	for i := range after {
		q := after[i]
		q.Periods, q.Throttled, q.Stopped = q.Periods-before[i].Periods, q.Throttled-before[i].Throttled, q.Stopped-before[i].Stopped
		if q.Throttled > 0 && (most == nil || q.Stopped > most.Stopped) {
			most = &q
		}
	}
	if most != nil {
		most.Processors = t.processors(most.Group)
	}
	return most
}
