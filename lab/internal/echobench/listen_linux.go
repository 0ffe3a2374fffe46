package echobench

import (
	"context"
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// For long messages the sockets' buffer sizes are set. The kernel would grow them to
// a different size on each connection, and the size decides in how many pieces a
// message comes.
const (
	longMessage   = 16 << 10
	sendBuffer    = 256 << 10
	receiveBuffer = 1 << 20
)

// socketBuffers sets them on a socket that is not connected yet; what a listener
// has, its connections have.
func socketBuffers(fd, size int) error {
	if size < longMessage {
		return nil
	}
	return errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer),
	)
}

// Listen listens on a free port of the loopback interface, for messages of that
// size.
func Listen(size int) (*net.TCPListener, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) { set = socketBuffers(int(fd), size) })
		return errors.Join(err, set)
	}}
	// No Multipath TCP, which the plain listener of a server has where it may.
	config.SetMultipathTCP(false)
	l, err := config.Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return l.(*net.TCPListener), nil
}
