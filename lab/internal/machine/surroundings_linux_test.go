package machine

import (
	"encoding/json"
	"testing"
)

// tree is a file system made of texts.
type tree map[string]string

func (t tree) read(name string) []byte {
	text, ok := t[name]
	if !ok {
		return nil
	}
	return []byte(text)
}

func TestLimitsOfControlGroups(t *testing.T) {
	for name, c := range map[string]struct {
		files  tree
		member string
		cpus   float64
		memory int64
	}{
		"none":       {tree{}, "0::/\n", 0, 0},
		"no limit":   {tree{"/sys/fs/cgroup/a/cpu.max": "max 100000\n", "/sys/fs/cgroup/a/memory.max": "max\n"}, "0::/a\n", 0, 0},
		"its own":    {tree{"/sys/fs/cgroup/a/b/cpu.max": "150000 100000\n", "/sys/fs/cgroup/a/b/memory.max": "1048576\n"}, "0::/a/b\n", 1.5, 1 << 20},
		"its parent": {tree{"/sys/fs/cgroup/a/cpu.max": "50000 100000", "/sys/fs/cgroup/a/b/cpu.max": "150000 100000"}, "0::/a/b", 0.5, 0},
		"version 1": {tree{
			"/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "200000\n", "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n",
			"/sys/fs/cgroup/memory/y/memory.limit_in_bytes": "4096\n",
		}, "3:cpu,cpuacct:/x\n4:memory:/y\n1:name=systemd:/z\n", 2, 4096},
		"version 1 without": {tree{"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, "1:cpu:/\n", 0, 0},
		"nonsense":          {tree{"/sys/fs/cgroup/cpu.max": "a b c", "/sys/fs/cgroup/memory.max": "-7"}, "0::/\nx\n::\n:::::\n", 0, 0},
	} {
		cpus, memory := groupLimits(c.files, []byte(c.member))
		if cpus != c.cpus || memory != c.memory {
			t.Errorf("%s: %v processors, %d bytes, want %v and %d", name, cpus, memory, c.cpus, c.memory)
		}
	}
}

func TestVirtualizationIsNamedWhereItIsTold(t *testing.T) {
	for want, files := range map[string]tree{
		"":                   {"/proc/cpuinfo": "flags\t\t: fpu sse\n"},
		"hypervisor":         {"/proc/cpuinfo": "flags\t\t: fpu hypervisor sse\n"},
		"qemu":               {"/sys/class/dmi/id/sys_vendor": "QEMU\n", "/proc/cpuinfo": "flags : hypervisor\n"},
		"ec2, docker":        {"/sys/class/dmi/id/sys_vendor": "Amazon EC2\n", "/.dockerenv": ""},
		"podman":             {"/run/.containerenv": "x"},
		"vmware, kubernetes": {"/sys/class/dmi/id/product_name": "VMware7,1\n", "/proc/1/cgroup": "0::/kubepods/besteffort\n"},
	} {
		if got := virtualization(files); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSmallFilesOfTheKernel(t *testing.T) {
	if got := memTotal([]byte("MemTotal:        2048 kB\nMemFree: 1 kB\n")); got != 2<<20 {
		t.Errorf("memory %d", got)
	}
	for _, text := range []string{"", "MemTotal:", "MemTotal: x kB", "MemTotal: 99999999999999999999 kB", "MemTotal: 9223372036854775807 kB"} {
		if got := memTotal([]byte(text)); got != 0 {
			t.Errorf("%q: %d", text, got)
		}
	}
	for text, want := range map[string]string{"always [madvise] never": "madvise", "always": "", "": "", "[x": ""} {
		if got := chosen(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestThisMachinesSurroundings(t *testing.T) {
	m := This()
	if m.Memory < 1<<20 || m.OpenFiles == 0 || m.Sysctls.Overcommit == "" {
		t.Errorf("%+v", m)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back Machine
	if err := json.Unmarshal(text, &back); err != nil || back != m {
		t.Errorf("%v: read back %+v, written %s", err, back, text)
	}
}
