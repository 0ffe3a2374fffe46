package machine

import (
	"bytes"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// surroundings fills in what the system around the program says. It reads
// small files of /proc and /sys; one that is not there leaves its field empty.
func surroundings(m *Machine) {
	m.Memory = memTotal(read("/proc/meminfo"))
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		m.OpenFiles = limit.Cur
	}
	m.Governor = oneLine(read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
	m.Virtualization = virtualization(fileSystem{})
	m.CPULimit, m.MemoryLimit = groupLimits(fileSystem{}, read("/proc/self/cgroup"))
	if m.MemoryLimit >= m.Memory {
		m.MemoryLimit = 0 // more than there is allows everything
	}
	m.Sysctls.each(func(name string, value *string) {
		*value = oneLine(read("/proc/sys/" + strings.ReplaceAll(name, ".", "/")))
	})
	m.Sysctls.HugePages = chosen(oneLine(read("/sys/kernel/mm/transparent_hugepage/enabled")))
}

// filesAt is where the facts are read: the system's, or a test's.
type filesAt interface {
	read(name string) []byte // nil when it cannot be read
}

type fileSystem struct{}

func (fileSystem) read(name string) []byte { return read(name) }

func read(name string) []byte {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return text
}

func oneLine(text []byte) string { return strings.Join(strings.Fields(string(text)), " ") }

// chosen takes what stands in brackets: "always [madvise] never".
func chosen(list string) string {
	_, rest, ok := strings.Cut(list, "[")
	word, _, closed := strings.Cut(rest, "]")
	if !ok || !closed {
		return ""
	}
	return word
}

// memTotal reads the first line of /proc/meminfo, which is in KiB.
func memTotal(info []byte) int64 {
	for line := range bytes.Lines(info) {
		if rest, ok := bytes.CutPrefix(line, []byte("MemTotal:")); ok {
			fields := strings.Fields(string(rest))
			if len(fields) == 0 {
				return 0
			}
			kib, err := strconv.ParseInt(fields[0], 10, 64)
			if err != nil || kib < 0 || kib > math.MaxInt64>>10 {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}

// virtualization finds a container by the files of its runtime, and a virtual
// machine by its DMI vendor and product names or, without a known name, by the
// processor's hypervisor flag.
func virtualization(f filesAt) string {
	var list []string
	board := strings.ToLower(oneLine(f.read("/sys/class/dmi/id/sys_vendor")) + " " + oneLine(f.read("/sys/class/dmi/id/product_name")))
	kind := ""
	for _, known := range [][2]string{
		{"kvm", "kvm"}, {"qemu", "qemu"}, {"vmware", "vmware"}, {"virtualbox", "virtualbox"}, {"xen", "xen"}, {"firecracker", "firecracker"},
		{"microsoft corporation virtual", "hyper-v"}, {"amazon ec2", "ec2"}, {"google compute", "gce"}, {"parallels", "parallels"},
	} {
		if strings.Contains(board, known[0]) {
			kind = known[1]
			break
		}
	}
	if kind == "" && hasFlag(f.read("/proc/cpuinfo"), "hypervisor") {
		kind = "hypervisor"
	}
	if kind != "" {
		list = append(list, kind)
	}
	switch {
	case f.read("/.dockerenv") != nil:
		list = append(list, "docker")
	case f.read("/run/.containerenv") != nil:
		list = append(list, "podman")
	case bytes.Contains(f.read("/proc/1/cgroup"), []byte("kubepods")):
		list = append(list, "kubernetes")
	}
	return strings.Join(list, ", ")
}

func hasFlag(info []byte, flag string) bool {
	for line := range bytes.Lines(info) {
		key, value, _ := strings.Cut(string(line), ":")
		if strings.TrimSpace(key) == "flags" {
			for word := range strings.FieldsSeq(value) {
				if word == flag {
					return true
				}
			}
			return false
		}
	}
	return false
}

// groupLimits finds the least that the control groups of /proc/self/cgroup
// allow, in either version of the interface (cgroups(7)). A group's limit
// counts for all below it, so the way up to the root is walked.
func groupLimits(f filesAt, membership []byte) (cpus float64, memory int64) {
	tighter := func(processors float64, bytes int64) {
		if processors > 0 && (cpus == 0 || processors < cpus) {
			cpus = processors
		}
		if bytes > 0 && (memory == 0 || bytes < memory) {
			memory = bytes
		}
	}
	for line := range bytes.Lines(membership) {
		parts := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			switch {
			case parts[1] == "":
				for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
					at := path.Join(root, dir)
					tighter(quota(oneLine(f.read(at+"/cpu.max"))), whole(f.read(at+"/memory.max")))
				}
			case strings.Contains(","+parts[1]+",", ",cpu,"):
				at := path.Join("/sys/fs/cgroup/cpu", dir)
				tighter(quota(oneLine(f.read(at+"/cpu.cfs_quota_us"))+" "+oneLine(f.read(at+"/cpu.cfs_period_us"))), 0)
			case parts[1] == "memory":
				tighter(0, whole(f.read(path.Join("/sys/fs/cgroup/memory", dir)+"/memory.limit_in_bytes")))
			}
			if dir == "/" {
				break
			}
		}
	}
	return cpus, memory
}

// quota reads "MICROSECONDS PERIOD"; max and -1 are no limit.
func quota(text string) float64 {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return 0
	}
	of, err := strconv.ParseFloat(fields[0], 64)
	per, err2 := strconv.ParseFloat(fields[1], 64)
	if err != nil || err2 != nil || !(of > 0) || !(per > 0) {
		return 0
	}
	return of / per
}

func whole(text []byte) int64 {
	n, err := strconv.ParseInt(oneLine(text), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
