//go:build !386 && !s390x

package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below never block, so they do not notify the scheduler, which would
// cost a tenth of a small echo, and half of one when the runtime's monitor thread has to be
// woken. Above longCall bytes the kernel may be busy for so long, 30 us and more, that the
// scheduler must be notified.
const longCall = 256 << 10

// Recv reads from a socket without waiting, whatever mode the socket is in; p
// must not be empty.
func Recv(fd int, p []byte) (int, error) {
	if len(p) > longCall {
		n, _, errno := unix.Syscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
		return result(n, errno)
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
	return result(n, errno)
}

// Send writes to a socket without waiting and without a SIGPIPE; p must not be
// empty.
func Send(fd int, p []byte) (int, error) {
	if len(p) > longCall {
		n, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		return result(n, errno)
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return result(n, errno)
}

func result(n uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
