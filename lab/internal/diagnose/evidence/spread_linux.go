package evidence

import (
	"math/rand/v2"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// spread binds each thread of this process to a random processor, or removes the
// binding of all. On a busy machine the kernel may leave two threads on one
// processor for seconds; bound at random, they are on different ones in some turns.
func spread(byLot bool) {
	var all unix.CPUSet
	if unix.SchedGetaffinity(os.Getpid(), &all) != nil {
		return
	}
	if allowed == nil {
		allowed = &all // before anything was tied
	}
	var processors []int
	for cpu := range len(allowed) * strconv.IntSize {
		if allowed.IsSet(cpu) {
			processors = append(processors, cpu)
		}
	}
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil || len(processors) == 0 {
			continue
		}
		set := *allowed
		if byLot {
			set.Zero()
			set.Set(processors[rand.IntN(len(processors))])
		}
		_ = unix.SchedSetaffinity(id, &set) // one that may not be tied goes where it likes
	}
}

// allowed are the processors that this process may use.
var allowed *unix.CPUSet
