package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// TCPInfo reads TCP_INFO (tcp(7)) of a socket into info. Fields that the kernel
// does not know are 0. Unlike the package unix it allocates nothing.
func TCPInfo(fd int, info *unix.TCPInfo) error {
	*info = unix.TCPInfo{}
	size := uint32(unsafe.Sizeof(*info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO, uintptr(unsafe.Pointer(info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
