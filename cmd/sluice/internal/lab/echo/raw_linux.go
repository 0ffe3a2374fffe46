package echo

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// recv and send never wait, so that the scheduler need not be told of them:
// what is left is what the kernel costs. p must not be empty.

func recv(fd int, p []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

func send(fd int, p []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// watch adds a descriptor to an epoll, edge-triggered: its events carry tag.
func watch(ep, fd int, tag int) error {
	return unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | edge, Fd: int32(tag),
	})
}

// edge is EPOLLET, which x/sys has with a sign.
const edge = 1 << 31

// over are the events after which a short read is not the last: the end of the
// stream, or an error, stands behind it and gives no further edge.
const over = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
