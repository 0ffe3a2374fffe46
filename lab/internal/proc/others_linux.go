package proc

import (
	"os"
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
		if n, err := strconv.ParseInt(field, 10, 64); err == nil && i != 4 && i != 5 && i < 9 {
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
