//go:build !unix || aix || solaris || illumos

package ready

import (
	"context"
	"net"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// System is the name of this system's readiness poller: there is none.
const System = ""

// Driver is not available on this system.
type Driver struct{}

// Open returns op.ErrUnsupported.
func Open(op.Settings) (*Driver, error) { return nil, op.ErrUnsupported }

// The methods are there for the compiler: no Driver exists.

// Submit is not called.
func (*Driver) Submit(net.Conn, op.Request) error { return op.ErrUnsupported }

// WriteMany is not called.
func (*Driver) WriteMany(any, []net.Conn, *mem.Buf, op.Slow) (op.Spread, error) {
	return op.Spread{}, op.ErrUnsupported
}

// CloseConn is not called.
func (*Driver) CloseConn(net.Conn) error { return op.ErrUnsupported }

// Wait is not called.
func (*Driver) Wait() ([]op.Result, error) { return nil, op.ErrUnsupported }

// Shutdown is not called.
func (*Driver) Shutdown(context.Context) error { return op.ErrUnsupported }

// Close is not called.
func (*Driver) Close() {}

// Abandon is not called.
func (*Driver) Abandon() func() { return nil }

// Pin is not called.
func (*Driver) Pin(int) error { return op.ErrUnsupported }

// Listen is not called.
func (*Driver) Listen(net.Listener) (net.Conn, error) { return nil, op.ErrUnsupported }

// Adopt is not called.
func (*Driver) Adopt(net.Conn, any) error { return op.ErrUnsupported }

// Post is not called.
func (*Driver) Post(any, net.Conn, error) error { return op.ErrUnsupported }

// Load is not called.
func (*Driver) Load() int { return 0 }

// Held is not called.
func (*Driver) Held(net.Conn) int { return 0 }

// Counters is not called.
func (*Driver) Counters() op.Counters { return op.Counters{} }
