package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// EpollWait fills events, which must not be empty, with what there is, without waiting.
// It does not notify the scheduler.
func EpollWait(fd int, events []unix.EpollEvent) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(fd), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	return result(n, errno)
}
