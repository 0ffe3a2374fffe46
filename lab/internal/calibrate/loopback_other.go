//go:build !linux

package calibrate

import (
	"fmt"
	"io"
	"net"
	"time"
)

// newPair connects two sockets over loopback. shut makes calls that wait in
// either socket return; release closes both, after their last use.
func newPair() (near, far io.ReadWriter, shut, release func(), err error) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, nil, nil, nil, fmt.Errorf("calibrate: %w", err)
	}
	defer l.Close()
	a, err := net.DialTimeout("tcp4", l.Addr().String(), loopbackPatience)
	if err != nil {
		return nil, nil, nil, nil, fmt.Errorf("calibrate: %w", err)
	}
	l.SetDeadline(time.Now().Add(loopbackPatience))
	b, err := l.Accept()
	if err != nil {
		a.Close()
		return nil, nil, nil, nil, fmt.Errorf("calibrate: %w", err)
	}
	shut = func() {
		a.Close()
		b.Close()
	}
	return a, b, shut, func() {}, nil
}
