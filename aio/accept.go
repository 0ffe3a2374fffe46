package aio

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// intake accepts for the watchers of one call of Serve.
type intake struct {
	ctx        context.Context // done when serving must end
	fail, hear func(error)     // an error that ends the serving, and one that does not
	watchers   []*served
	acceptors  []*acceptor
	accepting  sync.WaitGroup
	choosing   sync.Mutex
	next       int // of watchers, where the next choice begins; guarded by choosing
}

// served is a watcher of one call of Serve.
type served struct {
	*Watcher
	coming atomic.Int32 // connections that were given to it, and that Load does not count
}

// newcomer is the context of a result that is no operation: its Conn is a new
// connection. It is true when the connection is in served.coming.
type newcomer bool

// listen begins to accept on the listeners: in the watchers where they can, else in
// goroutines.
func (in *intake) listen(listeners []net.Listener) {
	for i, l := range listeners {
		w := in.watchers[i%len(in.watchers)]
		name, err := w.driver.Listen(l)
		if err != nil {
			in.accepting.Go(func() { in.accept(l) })
			continue
		}
		a := &acceptor{intake: in, listener: l, on: w, name: name}
		in.acceptors = append(in.acceptors, a)
		a.submit()
	}
}

// watchListenersEvery is how often the listeners are looked at. It takes a
// microsecond for each.
const watchListenersEvery = time.Second

// watchListeners waits until the server is to end, and has it end when a listener was
// closed by others: the watchers' duplicates of its socket would go on.
func (in *intake) watchListeners() {
	tick := time.NewTicker(watchListenersEvery)
	defer tick.Stop()
	for {
		select {
		case <-in.ctx.Done():
			return
		case <-tick.C:
		}
		for _, a := range in.acceptors {
			if isClosed(a.listener) {
				in.fail(a.wrap(net.ErrClosed))
			}
		}
	}
}

// isClosed reports whether a listener that a watcher polls was closed.
func isClosed(l net.Listener) bool {
	raw, err := l.(syscall.Conn).SyscallConn()
	if err == nil {
		err = raw.Control(func(uintptr) {})
	}
	return errors.Is(err, net.ErrClosed)
}

// stopListening closes the listeners. When it returns no goroutine accepts any more.
func (in *intake) stopListening(listeners []net.Listener) {
	for _, a := range in.acceptors {
		_ = a.on.Free(a.name)
	}
	for _, l := range listeners {
		l.Close()
	}
	in.accepting.Wait()
}

// choose returns the watcher that has the fewest connections, and counts one more in its
// coming.
func (in *intake) choose() *served {
	in.choosing.Lock()
	defer in.choosing.Unlock()
	var least *served
	load := 0
	for i := range in.watchers {
		w := in.watchers[(in.next+i)%len(in.watchers)]
		if n := w.driver.Load() + int(w.coming.Load()); least == nil || n < load {
			least, load = w, n
		}
	}
	in.next++
	least.coming.Add(1)
	return least
}

// acceptsAtOnce bounds how many connections a watcher accepts before it does something
// else.
const acceptsAtOnce = 16

// acceptor accepts on one listener, in the goroutine of a watcher. It is the context of
// its operations, and of a result without a connection when a pause is over.
type acceptor struct {
	intake   *intake
	listener net.Listener
	on       *served
	name     net.Conn
	pending  int // operations
	pausing  bool
	pause    time.Duration // the last one
}

// submit has as many operations under way as there should be.
func (a *acceptor) submit() {
	for !a.pausing && a.pending < acceptsAtOnce {
		if a.on.driver.Submit(a.name, op.Request{Kind: op.Accept, Ctx: a}) != nil {
			return // it is ending
		}
		a.pending++
	}
}

// accepted gives the connection of an operation to a watcher.
func (a *acceptor) accepted(result *OpResult) {
	switch {
	case result.Conn != nil && result.Error == nil:
		a.pending--
		a.pause = 0
		w := a.intake.choose()
		// What fails closes it.
		err := w.driver.Adopt(result.Conn, newcomer(false))
		w.coming.Add(-1)
		if err != nil && !errors.Is(err, ErrWatcherClosed) {
			a.intake.hear(a.wrap(os.NewSyscallError("poller", err)))
		}
	case result.Error == nil:
		a.pausing = false
	default:
		a.pending--
		a.failed(result.Error)
	}
	a.submit()
}

// failed waits for a while after an error that will pass.
func (a *acceptor) failed(err error) {
	in := a.intake
	err = a.wrap(os.NewSyscallError("accept", err))
	switch {
	case in.ctx.Err() != nil || a.pausing:
	case !temporary(err):
		a.pausing = true
		in.fail(err)
	default:
		in.hear(err)
		a.pausing = true
		a.pause = longer(a.pause)
		time.AfterFunc(a.pause, func() { _ = a.on.driver.Post(a, nil, nil) })
	}
}

// wrap is err with the listener's address.
func (a *acceptor) wrap(err error) error {
	addr := a.listener.Addr()
	return &net.OpError{Op: "accept", Net: addr.Network(), Addr: addr, Err: err}
}

// accept is the goroutine of a listener that no watcher can poll.
func (in *intake) accept(l net.Listener) {
	var pause time.Duration
	for {
		conn, err := l.Accept()
		if err == nil {
			pause = 0
			w := in.choose()
			if w.driver.Post(newcomer(true), conn, nil) != nil {
				conn.Close()
			}
			continue
		}
		if in.ctx.Err() != nil {
			return
		}
		if !temporary(err) {
			in.fail(err)
			return
		}
		in.hear(err)
		pause = longer(pause)
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-in.ctx.Done():
			wait.Stop()
			return
		}
	}
}

// How long nothing is accepted when the system cannot give a connection: as long as
// net/http waits.
const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

func longer(pause time.Duration) time.Duration { return min(max(2*pause, minPause), maxPause) }

// temporary tells whether a listener that returned err may yet accept.
func temporary(err error) bool {
	var t interface{ Temporary() bool }
	if errors.As(err, &t) && t.Temporary() { // EMFILE and ENFILE among others
		return true
	}
	// The second line is of the connection that was to be accepted, see accept(2) on Linux:
	// a firewall's, or what the network said before. A call that is forbidden altogether is
	// tried again each second.
	for _, passing := range []error{
		syscall.ECONNABORTED, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.EPERM, syscall.EPROTO, syscall.ENOPROTOOPT, syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.EHOSTUNREACH,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}
