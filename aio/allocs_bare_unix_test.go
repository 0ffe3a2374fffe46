//go:build unix

package aio_test

import (
	"net"
	"syscall"
	"testing"
)

// bareClient connects a descriptor that is no net.Conn to a loopback address. It
// is closed when the test ends.
func bareClient(t *testing.T, to *net.TCPAddr) (send func(p []byte) error) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A reset, so that no port waits for a minute.
		_ = syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
		_ = syscall.Close(fd)
	})
	syscall.CloseOnExec(fd)
	address := &syscall.SockaddrInet4{Port: to.Port}
	copy(address.Addr[:], to.IP.To4())
	if err := syscall.Connect(fd, address); err != nil {
		t.Fatal(err)
	}
	return func(p []byte) error {
		for len(p) > 0 {
			n, err := syscall.Write(fd, p)
			if err != nil && err != syscall.EINTR {
				return err
			}
			p = p[max(n, 0):]
		}
		return nil
	}
}
