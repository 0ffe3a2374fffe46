package aio

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

// Handler is what a Server does with connections and with the completions of
// operations on them. Its methods are called by two goroutines for each
// listener, so what they share needs a lock; what is submitted with an
// operation, and comes back in OpResult.Context, needs none.
//
// Neither method should wait for long: while Accepted does, no connection is
// accepted, and while Completed does, nothing happens on the connections of
// that watcher.
type Handler interface {
	// Accepted is called with each new connection, in the goroutine that
	// accepts, and submits its first operation to w. A connection that is not
	// submitted, or whose submission was refused, is the handler's to close;
	// w.Free does that in both cases.
	Accepted(w *Watcher, conn net.Conn)
	// Completed is called with each completed operation of w, in the goroutine
	// that is in w.WaitIO. r, and a buffer in it that is the watcher's own, are
	// borrowed until Completed returns; r.Buf is retained, and for the handler
	// to release or to pass on.
	//
	// A read that ends with ErrWatcherClosed says that the server is shutting
	// down. Leave its connection alone then: the watcher closes it when what is
	// queued has been written, whereas Free would throw that away.
	Completed(w *Watcher, r *OpResult)
}

// DefaultGrace is the Grace of servers that do not say.
const DefaultGrace = 5 * time.Second

// Server accepts connections and runs a watcher for each of its listeners. Its
// fields are read by Serve and not changed; Handler is the only one that has
// to be set.
type Server struct {
	Handler Handler
	// Options are those of each watcher.
	Options Options
	// Grace is how long what is queued may be written after the context of
	// Serve is done; DefaultGrace unless set, and less than 0 is no time at all.
	Grace time.Duration
	// Started is called with each watcher and its listener before the first
	// connection is accepted: the place to ask for an affinity, or to keep the
	// watcher for its Stats. An error ends Serve, which returns it.
	Started func(w *Watcher, l net.Listener) error
	// OnError hears of what does not end the server: a connection that could
	// not be accepted for the time being (descriptors have run out, say), and
	// writes that were cut off because Grace was over. It is called by several
	// goroutines.
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
// way and returns that error. No goroutine of its own is left in any case.
//
// A Server may serve several times, also at once. It panics without a listener
// and without a Handler.
func (s *Server) Serve(ctx context.Context, listeners []net.Listener) error {
	if len(listeners) == 0 || s.Handler == nil {
		panic(fmt.Sprintf("aio: Serve with %d listeners and the handler %v", len(listeners), s.Handler))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &serving{server: s, ctx: ctx, stop: stop}
	for _, l := range listeners {
		if err := r.add(l); err != nil {
			r.fail(err)
			break
		}
	}
	if r.err == nil {
		for i, w := range r.watchers {
			r.collecting.Go(func() { r.collect(w) })
			r.accepting.Go(func() { r.accept(listeners[i], w) })
		}
		<-ctx.Done()
	}
	for _, l := range listeners {
		l.Close()
	}
	// Only then is it certain that nobody submits a first operation any more.
	r.accepting.Wait()
	r.end()
	return r.err
}

// serving is one call of Serve.
type serving struct {
	server     *Server
	ctx        context.Context // done when it is to end
	stop       context.CancelFunc
	watchers   []*Watcher
	accepting  sync.WaitGroup
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

func (r *serving) hear(err error) {
	if r.server.OnError != nil {
		r.server.OnError(err)
	}
}

// add makes the watcher of a listener.
func (r *serving) add(l net.Listener) error {
	w, err := NewWatcherOptions(r.server.Options)
	if err != nil {
		return err
	}
	r.watchers = append(r.watchers, w)
	if r.server.Started != nil {
		return r.server.Started(w, l)
	}
	return nil
}

// accept hands the connections of a listener to the handler.
func (r *serving) accept(l net.Listener, w *Watcher) {
	var pause time.Duration
	for {
		conn, err := l.Accept()
		if err == nil {
			pause = 0
			r.server.Handler.Accepted(w, conn)
			continue
		}
		if r.ctx.Err() != nil {
			return
		}
		if !temporary(err) {
			r.fail(err)
			return
		}
		r.hear(err)
		pause = min(max(2*pause, minPause), maxPause)
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-r.ctx.Done():
			wait.Stop()
			return
		}
	}
}

// How long accept waits when the system cannot give it a connection: as long
// as net/http does.
const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// temporary tells whether a listener that returned err may yet accept.
func temporary(err error) bool {
	var t interface{ Temporary() bool }
	if errors.As(err, &t) && t.Temporary() { // EMFILE and ENFILE among others
		return true
	}
	for _, passing := range []error{syscall.ECONNABORTED, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// collect hands the completions of a watcher to the handler, until the watcher
// is closed.
func (r *serving) collect(w *Watcher) {
	for {
		results, err := w.WaitIO()
		for i := range results {
			r.server.Handler.Completed(w, &results[i])
		}
		switch {
		case err == nil:
		case errors.Is(err, ErrWatcherClosed):
			if r.ctx.Err() == nil {
				r.fail(err) // somebody else closed it
			}
			_, _ = w.WaitIO() // ends the loan of the last results
			return
		default:
			r.fail(err)
			w.Close() // and the next WaitIO hands out what was pending
		}
	}
}

// end lets the watchers write what is queued, and closes them.
func (r *serving) end() {
	grace := r.server.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	grace = max(grace, 0)
	ctx, stop := context.WithTimeout(context.Background(), grace)
	defer stop()
	var draining sync.WaitGroup
	for _, w := range r.watchers {
		draining.Go(func() {
			if err := w.Shutdown(ctx); err != nil && !errors.Is(err, ErrWatcherClosed) {
				r.hear(fmt.Errorf("aio: writes were cut off %v after the server was to end: %w", grace, err))
			}
		})
	}
	draining.Wait()
	r.collecting.Wait()
}
