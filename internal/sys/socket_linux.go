package sys

import (
	"net/netip"
	"strconv"
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
		received(fd, p, n, errno)
		return result(n, errno)
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
	received(fd, p, n, errno)
	return result(n, errno)
}

// Read is syscall.Read with less of the stack: in one frame, and without making an error
// of an interface type. p must not be empty.
func Read(fd int, p []byte) (int, syscall.Errno) {
	if Race { // whose detector syscall.Read notifies
		n, err := syscall.Read(fd, p)
		errno, _ := err.(syscall.Errno)
		return n, errno
	}
	n, _, errno := unix.Syscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	return int(n), errno
}

// Send writes to a socket without waiting and without a SIGPIPE; p must not be
// empty.
func Send(fd int, p []byte) (int, error) {
	sends(p)
	if len(p) > longCall {
		n, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		return result(n, errno)
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return result(n, errno)
}

// Accept takes the next connection of a listening socket that must be non-blocking. The
// connection is non-blocking too, and closed when a program is executed. from is
// invalid when it is no IP address. Package unix would allocate, and ask the connection
// for its protocol.
func Accept(fd int) (conn int, from netip.AddrPort, err error) {
	var a unix.RawSockaddrInet6 // the longer of the two that are looked at
	size := uint32(unsafe.Sizeof(a))
	n, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(&a)), uintptr(unsafe.Pointer(&size)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	if errno != 0 {
		return -1, from, errno
	}
	port := (*[2]byte)(unsafe.Pointer(&a.Port)) // the highest byte first
	switch a.Family {
	case unix.AF_INET:
		a := (*unix.RawSockaddrInet4)(unsafe.Pointer(&a))
		from = netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(port[0])<<8|uint16(port[1]))
	case unix.AF_INET6:
		ip := netip.AddrFrom16(a.Addr).Unmap()
		if a.Scope_id != 0 && ip.Is6() {
			ip = ip.WithZone(strconv.FormatUint(uint64(a.Scope_id), 10))
		}
		from = netip.AddrPortFrom(ip, uint16(port[0])<<8|uint16(port[1]))
	}
	return int(n), from, nil
}

func result(n uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
