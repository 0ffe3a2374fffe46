package aio

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// Handler is what a Server does with connections and with the completions of
// operations on them. Its methods are called by one goroutine for each watcher, so what
// connections of several watchers share needs a lock; what is submitted with an
// operation, and comes back in OpResult.Context, needs none. ConnHandler is one with a
// state for each connection.
//
// Neither method should block for long: meanwhile that watcher serves none of its
// connections and accepts none on its listener. runtime.Goexit in one frees the connection that
// it was called for; another goroutine goes on.
type Handler interface {
	// Accepted is called with each new connection, and submits its first operation to
	// w. A connection that is not submitted, or whose submission was refused, is the
	// handler's to close; w.Free does that in both cases.
	//
	// conn is the listener's own when the server has accepted it there. Else it is one
	// of this package, which the watcher holds until it is freed: a name, with its
	// addresses and, by SyscallConn, the socket's options. Those are set as package net
	// sets them, and as the net.ListenConfig that the listener came from says.
	Accepted(w *Watcher, conn net.Conn)
	// Completed is called with each completed operation of w. r, and a buffer in it
	// that is the watcher's own, are borrowed until Completed returns; r.Buf is
	// retained, and for the handler to release or to pass on.
	//
	// A read that ends with ErrWatcherClosed says that the server is shutting
	// down. Leave its connection alone then: the watcher closes it when what is
	// queued has been written, whereas Free would throw that away.
	Completed(w *Watcher, r *OpResult)
}

// Server accepts connections and serves them on watchers; a new one goes to the watcher
// that has the fewest. Serve reads the fields and does not change them; only Handler is
// required.
//
// The watchers poll listeners of package net itself, TCP and Unix streams, assigned to them in
// rotation: such a connection never enters the runtime's poller. Any other listener, and
// any on the Std driver, has a goroutine in its Accept.
//
// It accepts as long as there are descriptors (RLIMIT_NOFILE), and tries again when there are. A
// Handler whose Accepted frees what is too much bounds connections by their number: see the example.
type Server struct {
	Handler Handler
	// Options are those of each watcher.
	Options Options
	// Watchers is how many there are; one for each listener unless set, and never fewer.
	Watchers int
	// Grace is how long what is queued may be written after the context of
	// Serve is done; DefaultGrace unless set, and less than 0 is no time at all.
	Grace time.Duration
	// Started is called with each watcher, and a listener, before the first connection
	// is accepted: the place to ask for an affinity, or to keep the watcher for its
	// Stats. An error ends Serve, which returns it.
	Started func(w *Watcher, l net.Listener) error
	// OnError is called for errors that do not end the server: a connection that
	// cannot be accepted for now (no descriptors left, for example), writes that
	// were cut off because Grace was over, and callbacks that called runtime.Goexit.
	// Several goroutines call it.
	OnError func(error)
}

// Serve runs a Server with these options and this handler until ctx is done.
// The listeners, transferred, are closed when it returns.
func Serve(ctx context.Context, listeners []net.Listener, o Options, h Handler) error {
	return (&Server{Options: o, Handler: h}).Serve(ctx, listeners)
}

// Serve accepts connections on the listeners, which are transferred, until ctx
// is done. Then it closes the listeners, lets the watchers write what is queued
// for as long as Grace, closes all connections, and returns nil. When a watcher
// cannot be made, or a watcher or a listener fails for good, it ends in the same
// way and returns that error; so it does within a second after a listener was closed by
// others, with net.ErrClosed. No goroutine of its own is left in any case.
//
// A Server may serve several times, also at once. It panics without a listener
// and without a Handler, with a nil listener, and with a nil ctx.
func (s *Server) Serve(ctx context.Context, listeners []net.Listener) error {
	if ctx == nil {
		panic("aio: Serve: nil context")
	}
	if len(listeners) == 0 || s.Handler == nil {
		panic(fmt.Sprintf("aio: Serve with %d listeners and a handler of type %T", len(listeners), s.Handler))
	}
	for i, l := range listeners {
		if l == nil { // or it would be found by a goroutine that the caller cannot recover
			panic(fmt.Sprintf("aio: Serve with a nil listener, number %d of %d", i+1, len(listeners)))
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &serving{server: s, stop: stop, options: s.Options}
	r.intake.ctx, r.intake.fail, r.intake.hear = ctx, r.fail, r.hear
	collecting, returns := false, false
	defer func() {
		if !returns { // a function of the program panics, or has called runtime.Goexit
			stop()
			r.intake.stopListening(listeners)
			r.end(collecting)
		}
	}()
	if h, ok := s.Handler.(preparing); ok {
		if err := h.prepare(&r.options); err != nil {
			r.hear(err)
		}
	}
	for i := range max(s.Watchers, len(listeners)) {
		if err := r.add(listeners[i%len(listeners)]); err != nil {
			r.fail(err)
			break
		}
	}
	if collecting = r.err == nil; collecting {
		r.intake.listen(listeners)
		for _, w := range r.intake.watchers {
			r.collecting.Go(func() { r.collect(w, nil, nil) })
		}
		r.intake.watchListeners()
	}
	returns = true
	r.intake.stopListening(listeners)
	r.end(collecting)
	return r.err
}

// preparing is a Handler that adjusts the options. OnError is called with its error.
type preparing interface{ prepare(*Options) error }

// serving is one call of Serve.
type serving struct {
	server     *Server
	options    Options
	stop       context.CancelFunc
	intake     intake
	collecting sync.WaitGroup
	once       sync.Once
	err        error // of the first failure; read when the goroutines have ended
}

// fail ends the serving because of err.
func (r *serving) fail(err error) {
	r.once.Do(func() {
		r.err = err
		r.stop()
	})
}

// hear calls OnError, in a goroutine that it may end.
func (r *serving) hear(err error) {
	if r.server.OnError == nil {
		return
	}
	var call sync.WaitGroup
	call.Go(func() { r.server.OnError(err) })
	call.Wait()
}

// add makes a watcher.
func (r *serving) add(l net.Listener) error {
	w, err := NewWatcherOptions(r.options)
	if err != nil {
		return err
	}
	r.intake.watchers = append(r.intake.watchers, &served{Watcher: w})
	if r.server.Started != nil {
		return r.server.Started(w, l)
	}
	return nil
}

// handle looks at one result of w.
func (r *serving) handle(w *served, result *OpResult) {
	switch ctx := result.Context.(type) {
	case newcomer:
		r.server.Handler.Accepted(w.Watcher, result.Conn)
		if ctx {
			w.coming.Add(-1)
		}
	case *acceptor:
		ctx.accepted(result)
	case notification:
		for _, l := range w.loops {
			l.notifyEnd()
		}
		close(ctx)
	default:
		r.server.Handler.Completed(w.Watcher, result)
	}
}

// notification is the context of a result that makes a watcher notify the peers of the
// end. It is closed when that is done.
type notification chan struct{}

// collect hands the completions of a watcher to the handler, until the watcher is closed: first the
// results that are left of a WaitIO that has returned err.
func (r *serving) collect(w *served, results []OpResult, err error) {
	next, over := 0, false
	defer func() {
		if p := recover(); p != nil {
			panic(p) // it ends the program
		}
		if !over { // runtime.Goexit, in a callback
			r.goOn(w, results, next, err)
		}
	}()
	for _, l := range w.loops {
		l.endAborted()
	}
	for {
		for next < len(results) {
			next++
			r.handle(w, &results[next-1])
		}
		if over = err != nil && r.ended(w, err); over {
			return
		}
		results, next = nil, 0 // WaitIO may take long, and would keep them
		results, err = w.WaitIO()
	}
}

// goOn has another goroutine collect, when a callback has ended the one before: in a test FailNow
// does. It ends the connection that was called for, as in package net/http, and nothing else.
func (r *serving) goOn(w *served, results []OpResult, next int, err error) {
	r.hear(op.ErrGoexit)
	if next > 0 {
		last := &results[next-1]
		if counted, _ := last.Context.(newcomer); bool(counted) {
			w.coming.Add(-1)
		}
		if _, ok := r.server.Handler.(preparing); !ok && last.Conn != nil {
			_ = w.Free(last.Conn)
		}
	}
	r.collecting.Go(func() { r.collect(w, results[next:], err) })
}

// ended handles an error of WaitIO. It reports whether w has returned its last result.
func (r *serving) ended(w *served, err error) bool {
	if !errors.Is(err, ErrWatcherClosed) {
		r.fail(err)
		w.Close() // and the next WaitIO hands out what was pending
		return false
	}
	if r.intake.ctx.Err() == nil {
		r.fail(err) // closed, but not by Serve
	}
	_, _ = w.WaitIO() // ends the lease of the last results
	for _, l := range w.loops {
		l.end()
	}
	return true
}

// end lets the watchers write what is queued, and closes them. collecting says that
// goroutines are in WaitIO.
func (r *serving) end(collecting bool) {
	grace := r.server.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	grace = max(grace, 0)
	ctx, stop := context.WithTimeout(context.Background(), grace)
	defer stop()
	var draining sync.WaitGroup
	for _, w := range r.intake.watchers {
		draining.Go(func() {
			notified := make(notification)
			if collecting && w.driver.Post(notified, nil, nil) == nil {
				select {
				case <-notified:
				case <-ctx.Done():
				}
			}
			if err := w.Shutdown(ctx); err != nil && !errors.Is(err, ErrWatcherClosed) {
				r.hear(fmt.Errorf("aio: writes were cut off %v after the server was to end: %w", grace, err))
			}
		})
	}
	draining.Wait()
	r.collecting.Wait()
}
