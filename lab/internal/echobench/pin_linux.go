package echobench

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Processors returns two processors that this process may use, for a server and
// its client. Where there is only one the error wraps errors.ErrUnsupported:
// two processes that alternate on one processor cannot be measured.
func Processors() (server, client int, err error) {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return 0, 0, os.NewSyscallError("sched_getaffinity", err)
	}
	// The last ones: interrupts tend to come to the first.
	server, client = -1, -1
	for cpu := len(may)*cpusPerWord - 1; cpu >= 0 && client < 0; cpu-- {
		switch {
		case !may.IsSet(cpu):
		case server < 0:
			server = cpu
		default:
			client = cpu
		}
	}
	if client < 0 {
		return 0, 0, fmt.Errorf("echo: a server and its client need two processors, here is one: %w", errors.ErrUnsupported)
	}
	return server, client, nil
}

// cpusPerWord is the size of an element of unix.CPUSet in bits.
const cpusPerWord = 32 << (^uint(0) >> 63)

// OnProcessor calls start on a thread that is bound to one processor, so that a
// process which start starts is bound to it too, and all that it has.
func OnProcessor(cpu int, start func() error) error {
	runtime.LockOSThread()
	var before, one unix.CPUSet
	err := unix.SchedGetaffinity(0, &before)
	if err == nil {
		one.Set(cpu)
		err = unix.SchedSetaffinity(0, &one)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("echo: binding a thread to processor %d: %w", cpu, err)
	}
	started := start()
	if err := unix.SchedSetaffinity(0, &before); err != nil {
		// The thread stays locked, and ends with the goroutine: no other goroutine
		// runs on a bound thread.
		return errors.Join(started, fmt.Errorf("echo: setting a thread free: %w", err))
	}
	runtime.UnlockOSThread()
	return started
}
