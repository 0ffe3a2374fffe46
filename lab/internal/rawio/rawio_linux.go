package rawio

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Recv and Send never wait, so that they need not notify the scheduler: they cost
// what the kernel costs. p must not be empty.

// Recv is recv(2) with MSG_DONTWAIT, again after EINTR.
func Recv(fd int, p []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// Send is send(2) with MSG_DONTWAIT and without SIGPIPE, again after EINTR.
func Send(fd int, p []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// Over are the events after which a short read is not the last: the end of the
// stream, or an error, stands behind it and gives no further edge.
const Over = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR

// edge is EPOLLET, which x/sys has with a sign.
const edge = 1 << 31

// Watch adds a descriptor to an epoll, edge-triggered in both directions: its events
// carry tag.
func Watch(ep, fd, tag int) error {
	return unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | edge, Fd: int32(tag),
	})
}

// Poll asks an epoll for events without waiting. One that is interrupted finds
// none.
func Poll(ep int, events []unix.EpollEvent) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	return found(n, errno, "epoll_pwait")
}

func found(n uintptr, errno unix.Errno, call string) (int, error) {
	if errno != 0 && errno != unix.EINTR {
		return 0, os.NewSyscallError(call, errno)
	}
	return max(0, int(n)), nil
}

// Wait waits for events for at most so long, exact to the machine's timers
// (epoll_pwait2(2), Linux 5.11; before that it waits for whole milliseconds, at
// least one). One that is interrupted finds none.
func Wait(ep int, events []unix.EpollEvent, longest time.Duration) (int, error) {
	longest = max(0, longest)
	// __kernel_timespec, which has 64 bits on every machine.
	span := [2]int64{int64(longest / time.Second), int64(longest % time.Second)}
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(ep), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(unsafe.Pointer(&span)), 0, 0)
	if errno == unix.ENOSYS {
		n, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(max(1, longest.Milliseconds())), 0, 0)
	}
	return found(n, errno, "epoll_pwait2")
}

// Descriptor is that of a connection, which keeps it.
func Descriptor(conn net.Conn) (fd int, err error) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("rawio: a %T has no descriptor", conn)
	}
	raw, err := c.SyscallConn()
	if err == nil {
		err = raw.Control(func(n uintptr) { fd = int(n) })
	}
	return fd, err
}

// Address reads an IPv4 address with a port.
func Address(text string) (*unix.SockaddrInet4, error) {
	addr, err := netip.ParseAddrPort(text)
	if err != nil || !addr.Addr().Is4() {
		return nil, fmt.Errorf("rawio: %.60q is no IPv4 address with a port", text)
	}
	return &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}, nil
}

// Connect returns a socket that is connected to an address, which set may prepare
// before. It is closed with a reset, so that no trace of it stays in the kernel for
// minutes, and connecting takes no longer than longest.
func Connect(to unix.Sockaddr, longest time.Duration, set func(fd int) error) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	wait := unix.NsecToTimeval(longest.Nanoseconds())
	err = errors.Join(
		set(fd),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait),
	)
	if err == nil {
		// With a timeout on the socket the kernel does not restart the call after EINTR.
		for err = unix.Connect(fd, to); err == unix.EINTR; {
			if err = unix.Connect(fd, to); err == unix.EISCONN {
				err = nil
			}
		}
		err = os.NewSyscallError("connect", err)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
