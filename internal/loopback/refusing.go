package loopback

import (
	"net"
	"os"
	"sync/atomic"
	"syscall"
)

// Refusing returns l, transferred, whose first calls of Accept fail so often, as when
// descriptors have run out.
func Refusing(l net.Listener, times int) net.Listener {
	r := &refusing{Listener: l}
	r.left.Store(int64(times))
	return r
}

type refusing struct {
	net.Listener
	left atomic.Int64
}

func (r *refusing) Accept() (net.Conn, error) {
	if r.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return r.Listener.Accept()
}
