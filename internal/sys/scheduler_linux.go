package sys

import "golang.org/x/sys/unix"

// WakeMonitor wakes the runtime's monitor thread, which preempts goroutines that run for
// more than 10 ms. It sleeps when all processors of the runtime are idle, and any system
// call that the scheduler is notified of wakes it: this is the cheapest.
func WakeMonitor() { _, _, _ = unix.Syscall(unix.SYS_GETPID, 0, 0, 0) }
