package evidence

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// machineOf is a machine of files as they were recorded, by their paths.
func machineOf(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

const (
	mountedV2 = "24 30 0:22 / /proc rw,relatime shared:12 - proc proc rw\n35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountedV1 = "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)

func TestAGroupThatWasStoppedIsFound(t *testing.T) {
	for _, c := range []struct {
		name, group, mounts, dir string
		before, after            map[string]string // files below dir
		want                     Quota
	}{
		{
			// A pod has the quota, the container in it none.
			"version 2, above", "0::/pod.slice/app\n", mountedV2, "sys/fs/cgroup/",
			map[string]string{
				"pod.slice/app/cpu.stat": "usage_usec 70\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n", "pod.slice/app/cpu.max": "max 100000\n",
				"pod.slice/cpu.stat": "usage_usec 900\nuser_usec 800\nsystem_usec 100\nnr_periods 100\nnr_throttled 40\nthrottled_usec 1000000\nnr_bursts 0\nburst_usec 0\n", "pod.slice/cpu.max": "50000 100000\n",
				"cpu.stat": "usage_usec 70000\nuser_usec 60000\nsystem_usec 10000\n",
			},
			map[string]string{"pod.slice/cpu.stat": "usage_usec 1900\nnr_periods 130\nnr_throttled 67\nthrottled_usec 2500000\n"},
			Quota{"/pod.slice", 0.5, 30, 27, 1500 * time.Millisecond},
		},
		{
			"version 1", "11:cpu,cpuacct:/docker/abc\n3:cpuset:/docker/abc\n1:name=systemd:/init\n0::/init\n", mountedV1, "sys/fs/cgroup/cpu,cpuacct/",
			map[string]string{
				"docker/abc/cpu.stat": "nr_periods 3\nnr_throttled 3\nthrottled_time 191947121\n", "docker/abc/cpu.cfs_quota_us": "20000\n", "docker/abc/cpu.cfs_period_us": "100000\n",
				"docker/cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n", "cpu.stat": "nr_periods 1\nnr_throttled 0\nthrottled_time 0\n",
			},
			map[string]string{"docker/abc/cpu.stat": "nr_periods 23\nnr_throttled 23\nthrottled_time 1788820326\n"},
			Quota{"/docker/abc", 0.2, 20, 20, 1596873205},
		},
		{
			// The paths are those of the machine, of which the container has a part only.
			"version 2, bound", "0::/docker/abc\n", "35 24 0:30 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "sys/fs/cgroup/",
			map[string]string{"cpu.stat": "nr_periods 10\nnr_throttled 0\nthrottled_usec 0\n", "cpu.max": "150000 100000\n"},
			map[string]string{"cpu.stat": "nr_periods 20\nnr_throttled 1\nthrottled_usec 70\n"},
			Quota{"/", 1.5, 10, 1, 70 * time.Microsecond},
		},
	} {
		files := map[string]string{"proc/77/cgroup": c.group, "proc/self/mountinfo": c.mounts}
		for name, text := range c.before {
			files[c.dir+name] = text
		}
		root := machineOf(files)
		groups, err := groupsOf(root, 77)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		before, err := groups.read()
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if q := groups.between(before, before); q != nil {
			t.Errorf("%s: stopped when nothing happened: %+v", c.name, q)
		}
		for name, text := range c.after {
			root[c.dir+name].Data = []byte(text)
		}
		after, err := groups.read()
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if q := groups.between(before, after); q == nil || *q != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, q, c.want)
		}
	}
}

func TestGroupsThatCannotBeLookedAtAreMissing(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no such process":          {"proc/self/mountinfo": mountedV2},
		"no group":                 {"proc/77/cgroup": "3:cpuset:/\n", "proc/self/mountinfo": mountedV2},
		"nothing mounted":          {"proc/77/cgroup": "0::/a\n"},
		"another version mounted":  {"proc/77/cgroup": "0::/a\n", "proc/self/mountinfo": strings.Split(mountedV1, "41 ")[0]},
		"outside of the namespace": {"proc/77/cgroup": "0::/../../b\n", "proc/self/mountinfo": mountedV2, "sys/fs/cgroup/cpu.stat": "nr_throttled 5\n"},
		"another part is mounted":  {"proc/77/cgroup": "0::/docker/abcd\n", "proc/self/mountinfo": "35 24 0:30 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "sys/fs/cgroup/cpu.stat": "nr_throttled 5\n"},
		"a group that is gone":     {"proc/77/cgroup": "0::/a (deleted)\n", "proc/self/mountinfo": mountedV2, "sys/fs/cgroup/cpu.stat": ""},
		"not a line":               {"proc/77/cgroup": "x\n0:\n\n", "proc/self/mountinfo": "\n - \n1 2 3\n"},
	} {
		groups, err := groupsOf(machineOf(files), 77)
		if err == nil {
			_, err = groups.read()
		}
		if !errors.Is(err, errMissing) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
