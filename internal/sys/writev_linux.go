package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Writev is writev(2) on parts that the caller keeps: x/sys makes a slice of its
// own in each call. parts must not be empty, and no longer than IOV_MAX.
func Writev(fd int, parts []unix.Iovec) (int, error) {
	sendsParts(parts)
	n, _, errno := unix.Syscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(&parts[0])), uintptr(len(parts)))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}

// SendParts is Writev for a socket, without waiting and without a SIGPIPE.
func SendParts(fd int, parts []unix.Iovec) (int, error) {
	sendsParts(parts)
	m := unix.Msghdr{Iov: &parts[0]}
	m.SetIovlen(len(parts))
	n, _, errno := unix.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&m)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
