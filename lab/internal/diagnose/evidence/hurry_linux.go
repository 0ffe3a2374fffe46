package evidence

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// hurried is the niceness that hurry asks for.
const hurried = -15

// hurry asks for a higher scheduling priority for the life of this process. How
// a workload shares memory can only be seen while its goroutines run at the same
// time, which is rare on a busy machine. Only the superuser gets the priority;
// others measure without it. hurry reports whether it was granted.
func hurry() bool {
	if os.Geteuid() != 0 {
		return false
	}
	// Where the kernel weighs sessions against each other, a process's niceness
	// counts within its session only: this one needs its own, and the
	// niceness of that. See sched(7), the autogroup feature.
	_, _ = unix.Setsid()
	_ = os.WriteFile("/proc/self/autogroup", []byte(strconv.Itoa(hurried)), 0)
	given := false
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		// Threads to come inherit it.
		if id, err := strconv.Atoi(task.Name()); err == nil {
			given = unix.Setpriority(unix.PRIO_PROCESS, id, hurried) == nil || given
		}
	}
	return given
}
