//go:build unix && !aix && !solaris && !illumos

package socket

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/internal/sys"
)

// Socket is a descriptor of one's own, and what is known of it. There is one for
// each idle connection, so its size counts.
type Socket struct {
	FD       int32
	IsSocket bool  // and not a pipe, or a device
	Stream   bool  // of bytes without bounds
	passes   bool  // descriptors may come with the bytes
	Datagram bool  // reading nothing is not the end
	Listens  bool  // it is for Accept
	inherits bool  // all that it will accept have their options from it
	unmarked bool  // a connection that has the mark (see marked) has it from setOptions
	marked   uint8 // connections in a row that had it
}

// Duplicate returns a non-blocking duplicate of fd, the descriptor of conn.
func Duplicate(conn net.Conn, fd int) (Socket, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return Socket{}, os.NewSyscallError("fcntl", err)
	}
	if _, ok := conn.(*net.TCPConn); ok {
		return Socket{FD: int32(dup), IsSocket: true, Stream: true}, nil
	}
	kind, err := unix.GetsockoptInt(dup, unix.SOL_SOCKET, unix.SO_TYPE)
	s := Socket{
		FD:       int32(dup),
		IsSocket: err == nil,
		Stream:   err == nil && kind == unix.SOCK_STREAM,
		Datagram: err == nil && kind == unix.SOCK_DGRAM,
	}
	if _, ok := conn.(*net.UnixConn); ok {
		s.passes = true
		return s, nil
	}
	if a, err := unix.Getsockname(dup); err == nil {
		_, s.passes = a.(*unix.SockaddrUnix)
	}
	if err := unix.SetNonblock(dup, true); err != nil {
		_ = unix.Close(dup)
		return Socket{}, os.NewSyscallError("fcntl", err)
	}
	return s, nil
}

// Read reads once into p, which is not empty. unix.EAGAIN says that there is
// nothing to read.
func (s *Socket) Read(p []byte) (int, error) {
	if s.IsSocket {
		return sys.Recv(int(s.FD), p)
	}
	return syscall.Read(int(s.FD), p) // which the race detector knows
}

// Write writes once what p has, or a part of it. unix.EAGAIN says that there is no
// room.
func (s *Socket) Write(p []byte) (int, error) {
	if s.IsSocket {
		return sys.Send(int(s.FD), p)
	}
	return syscall.Write(int(s.FD), p)
}

// EndWrites ends the sending side: the peer reads the end of the stream.
func (s *Socket) EndWrites() error { return unix.Shutdown(int(s.FD), unix.SHUT_WR) }

// Drained says whether a read of n bytes into so much room has emptied the socket.
// One that does not fill its room has, on a stream, and need not be followed by
// another that says so; but over a Unix socket it ends behind bytes that descriptors have come with.
func (s *Socket) Drained(n, room int) bool { return n < room && s.Stream && !s.passes }

// ResetOnClose makes Close reset a TCP connection: what the peer has not received is
// thrown away, and the peer's read fails.
func (s *Socket) ResetOnClose() {
	if s.IsSocket {
		_ = unix.SetsockoptLinger(int(s.FD), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	}
}

// Close closes the descriptor.
func (s *Socket) Close() { _ = unix.Close(int(s.FD)) }

// IsClosed says that err comes from using a connection that its owner has closed.
func IsClosed(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed)
}
