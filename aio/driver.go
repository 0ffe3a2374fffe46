package aio

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/ready"
	"github.com/sluice-go/sluice/aio/internal/std"
	"github.com/sluice-go/sluice/mem"
)

// driver carries out the operations of one watcher. Its methods are documented at the
// watcher's.
type driver interface {
	// Submit takes over what r was transferred, also when it fails.
	Submit(conn net.Conn, r op.Request) error
	// WriteMany borrows b.
	WriteMany(ctx any, conns []net.Conn, b *mem.Buf, slow op.Slow) (op.Spread, error)
	CloseConn(conn net.Conn) error
	// Listen returns a name for what l listens on, for op.Accept and CloseConn.
	Listen(l net.Listener) (net.Conn, error)
	// Adopt takes over a connection of an op.Accept, and posts it with ctx.
	Adopt(conn net.Conn, ctx any) error
	// Post makes Wait return a result with these, without an operation.
	Post(ctx any, conn net.Conn, err error) error
	// Load is how many connections there are.
	Load() int
	// Held is how much memory the writes of conn hold that wait, in bytes.
	Held(conn net.Conn) int
	Wait() ([]op.Result, error)
	Shutdown(ctx context.Context) error
	Close()
	// Abandon returns what closes the driver after its watcher has been collected, and
	// does not refer to the driver.
	Abandon() func()
	// Pin makes the goroutine that calls Wait stay on one processor.
	Pin(cpuid int) error
	Counters() op.Counters
}

// systemPoller is the driver of this system's readiness poller; Std when it has none.
var systemPoller = map[string]Driver{"epoll": Epoll, "kqueue": Kqueue, "": Std}[ready.System]

// newDriver makes the driver that o asks for, and says why it is that one.
func newDriver(o Options) (d driver, kind Driver, reason string, err error) {
	settings := op.Settings{
		BufferSize:     o.BufferSize,
		Allocator:      o.Allocator,
		QueueLimit:     o.QueueLimit,
		CloseWhenFull:  o.QueuePolicy == QueueClose,
		ErrorsComplete: o.ErrorsComplete,
	}
	switch o.Driver {
	case Std:
		return std.Open(settings), Std, "asked for by Options.Driver", nil
	case Auto, Epoll, Kqueue:
	default:
		return nil, 0, "", fmt.Errorf("%w: no driver has the number %d", ErrUnsupported, int(o.Driver))
	}
	if o.Driver != Auto && o.Driver != systemPoller {
		return nil, 0, "", fmt.Errorf("%w: %v is not there on this system, Auto and Std are", ErrUnsupported, o.Driver)
	}
	if systemPoller == Std {
		return std.Open(settings), Std, "this system has neither epoll nor kqueue", nil
	}
	d, err = ready.Open(settings)
	switch {
	case err == nil && o.Driver == Auto:
		return d, systemPoller, fmt.Sprintf("what this system has: %v", systemPoller), nil
	case err == nil:
		return d, systemPoller, "asked for by Options.Driver", nil
	case o.Driver == Auto && (errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EPERM)):
		// A sandbox may forbid it. Goroutines would not help against other
		// reasons, such as a lack of descriptors.
		return std.Open(settings), Std, fmt.Sprintf("the system refused %v: %v", systemPoller, err), nil
	default:
		return nil, 0, "", fmt.Errorf("aio: the system refused %v: %w", systemPoller, err)
	}
}
