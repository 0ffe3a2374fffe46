package echobench

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Processors returns two processors that this process may use, as it had them before a thread
// of it was bound to one: for a server, and for its client. Where there is only one the error wraps
// errors.ErrUnsupported: two processes that alternate on one processor cannot be measured.
var Processors = sync.OnceValues(func() (two [2]int, err error) {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return two, os.NewSyscallError("sched_getaffinity", err)
	}
	// The last ones: interrupts tend to come to the first.
	found := 0
	for cpu := mostProcessors - 1; cpu >= 0 && found < len(two); cpu-- {
		if may.IsSet(cpu) {
			two[found] = cpu
			found++
		}
	}
	if found < len(two) {
		err = fmt.Errorf("echo: a server and its client need two processors, here is one: %w", errors.ErrUnsupported)
	}
	return two, err
})

const mostProcessors = 1024 // that a unix.CPUSet has

// OnProcessor calls start on a thread that is bound to one processor, so that a
// process which start starts is bound to it too, and all that it has.
func OnProcessor[T any](cpu int, start func() (T, error)) (started T, err error) {
	runtime.LockOSThread()
	var before, one unix.CPUSet
	if err = unix.SchedGetaffinity(0, &before); err == nil {
		one.Set(cpu)
		err = unix.SchedSetaffinity(0, &one)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return started, fmt.Errorf("echo: binding a thread to processor %d: %w", cpu, err)
	}
	started, err = start()
	if freeing := unix.SchedSetaffinity(0, &before); freeing != nil {
		// The thread stays locked, and ends with the goroutine: no other goroutine
		// runs on a bound thread.
		return started, errors.Join(err, fmt.Errorf("echo: setting a thread free: %w", freeing))
	}
	runtime.UnlockOSThread()
	return started, err
}
