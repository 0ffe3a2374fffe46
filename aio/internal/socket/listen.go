//go:build unix && !aix && !solaris && !illumos

package socket

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Listening returns a duplicate of the descriptor that l listens on. Only listeners of
// package net itself have one: the Accept of other types must not be bypassed. TCP
// connections inherit from it what package net sets on each: no delay, keep-alive.
func Listening(l net.Listener) (Socket, error) {
	var raw syscall.RawConn
	var err error
	tcp, _ := l.(*net.TCPListener)
	switch l := l.(type) {
	case *net.TCPListener:
		raw, err = l.SyscallConn()
	case *net.UnixListener:
		raw, err = l.SyscallConn()
		if err == nil && l.Addr().Network() != "unix" { // what Accept returns is a stream
			err = fmt.Errorf("aio: a listener of network %s has a goroutine", l.Addr().Network())
		}
	default:
		return Socket{}, fmt.Errorf("aio: %T is no listener of package net", l)
	}
	if err != nil {
		return Socket{}, err
	}
	s := Socket{IsSocket: true, Listens: true}
	var failed error
	err = raw.Control(func(fd uintptr) {
		var dup int
		if dup, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); failed != nil {
			failed = os.NewSyscallError("fcntl", failed)
			return
		}
		s.FD, s.inherits = int32(dup), tcp == nil
		if tcp != nil {
			s.unmarked = !marked(dup)
			failed = setOptions(dup, tcp)
		}
		if failed != nil {
			_ = unix.Close(dup)
		}
	})
	if err == nil {
		err = failed
	}
	return s, err
}

// Accept takes the next connection of a listening socket, and says where it comes
// from; invalid for a Unix socket. unix.EAGAIN says that there is none.
func (s *Socket) Accept() (Socket, netip.AddrPort, error) {
	fd, from, err := accept(int(s.FD))
	if err != nil {
		// Those that had come before the options were set are out.
		s.inherits = s.inherits || err == unix.EAGAIN
		return Socket{}, netip.AddrPort{}, err
	}
	if !s.inherits {
		s.inherit(fd)
	}
	return Socket{FD: int32(fd), IsSocket: true, Stream: true, passes: !from.IsValid()}, from, nil
}

// enoughMarked connections in a row have inherited the options when all that follow have:
// two that came at the moment of setting them, on different processors, may be queued in
// the other order.
const enoughMarked = 64

// inherit sets the options of a connection that has not inherited them.
func (s *Socket) inherit(fd int) {
	if s.unmarked && marked(fd) {
		s.marked++
		s.inherits = s.marked == enoughMarked
		return
	}
	s.marked = 0
	_ = copyOptions(int(s.FD), fd) // it works without
}

// Local returns the address of the socket's own end.
func (s *Socket) Local() (net.Addr, error) { return address(unix.Getsockname(int(s.FD))) }

// Peer returns the address of the other end.
func (s *Socket) Peer() (net.Addr, error) { return address(unix.Getpeername(int(s.FD))) }

func address(a unix.Sockaddr, err error) (net.Addr, error) {
	if a, ok := a.(*unix.SockaddrUnix); ok {
		return &net.UnixAddr{Name: a.Name, Net: "unix"}, err
	}
	return net.TCPAddrFromAddrPort(addrPort(a)), err
}

func addrPort(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		ip := netip.AddrFrom16(a.Addr).Unmap()
		if a.ZoneId != 0 && ip.Is6() {
			ip = ip.WithZone(strconv.FormatUint(uint64(a.ZoneId), 10))
		}
		return netip.AddrPortFrom(ip, uint16(a.Port))
	}
	return netip.AddrPort{}
}
