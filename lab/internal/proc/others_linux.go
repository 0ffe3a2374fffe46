package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the step of the times in /proc/stat, USER_HZ: proc_stat(5).
const tick = time.Second / 100

// ReadOthers reads what others have used. Where /proc is hidden nothing is known.
func ReadOthers() (o Others) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return o
	}
	o.at = time.Now()
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "cpu") && !strings.HasPrefix(line, "cpu ") {
			o.processors++
		}
	}
	all, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(all) {
		// After the name: user, nice, system, idle, iowait, irq, softirq, steal, and of guests, who are in user.
		// Interrupts count to the process that they come upon, too, which may be this one.
		if n, err := strconv.ParseInt(field, 10, 64); err == nil && (i <= 3 || i == 8) {
			o.used += time.Duration(n) * tick
		}
	}
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			o.used -= time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return o
}

// Each is the processor time of each process but the calling one.
func Each() map[int]time.Duration {
	each := map[int]time.Duration{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if used, err := CPU(pid); err == nil && pid != os.Getpid() {
			each[pid] = used
		}
	}
	return each
}
