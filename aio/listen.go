package aio

import (
	"context"
	"fmt"
	"net"
)

// Listen opens n listeners on one address, among which the system spreads the
// connections that come, so that each can have a goroutine and a watcher of
// its own; Serve does that. With port 0 the first one picks the port, and the
// others join it. ctx bounds the look-up of addr and nothing later.
//
// Every listener of TCP gets SO_REUSEPORT before it is bound, also when n is 1:
// another process of the same user that sets it too may listen on the same
// port, and gets its share. Who is served by which listener is decided when the
// connection comes, by a hash of its addresses, so that shares are even only
// over many connections; what waits on a listener that is closed is lost.
//
// The network is "tcp", "tcp4" or "tcp6", or anything that net.Listen takes
// when n is 1. Only Linux and FreeBSD (SO_REUSEPORT_LB) spread connections:
// elsewhere more than one listener is ErrUnsupported. macOS has SO_REUSEPORT,
// but gives all connections to one of the listeners.
//
// The listeners are the caller's to close. When one cannot be opened, those
// that were opened before it are closed, and the error is that of
// net.ListenConfig. It panics when n is less than 1.
func Listen(ctx context.Context, network, addr string, n int) ([]net.Listener, error) {
	if n < 1 {
		panic(fmt.Sprintf("aio: Listen with %d listeners", n))
	}
	tcp := network == "tcp" || network == "tcp4" || network == "tcp6"
	switch {
	case n > 1 && !tcp:
		return nil, &sharedAddressError{n, "only TCP has it, not " + network}
	case n > 1 && !spreads:
		return nil, &sharedAddressError{n, "this system does not spread connections among them"}
	}
	var config net.ListenConfig
	if tcp && spreads {
		config.Control = shareAddress
	}
	listeners := make([]net.Listener, 0, n)
	for len(listeners) < n {
		l, err := config.Listen(ctx, network, addr)
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			return nil, err
		}
		listeners = append(listeners, l)
		// With the port that the first one got, and without another look-up of
		// a name, which might lead elsewhere.
		addr = l.Addr().String()
	}
	return listeners, nil
}

// sharedAddressError is ErrUnsupported for several listeners on one address.
type sharedAddressError struct {
	n   int
	why string
}

func (e *sharedAddressError) Error() string {
	return fmt.Sprintf("aio: %d listeners on one address: %s", e.n, e.why)
}

func (e *sharedAddressError) Is(target error) bool { return target == ErrUnsupported }
