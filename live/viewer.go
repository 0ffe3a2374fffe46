package live

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A Viewer is one connection that a Writer sends a stream to: a cursor into the
// stream's ring, and the rest of a message that the socket has not taken yet.
type Viewer struct {
	id      uint64
	writer  *Writer
	loop    *loop
	stream  *Stream
	conn    net.Conn
	raw     syscall.RawConn // of the socket, where there is one
	socket  *socketWriter
	alone   bool // has a goroutine of its own: sending may block
	options ViewerOptions
	since   time.Time
	done    chan struct{}
	figures figures
	trail   trail

	mu    sync.Mutex // guards asked and told
	asked request
	told  bool // the owner was notified of the request
	err   error

	// What follows belongs to the loop, or to the viewer's own goroutine.
	group   *group
	state   state
	arrived bool // no longer counted in Stream.arriving
	cursor  cursor
	line    line
	joined  int64 // when it was admitted, on the stream's clock
	paused  bool
	trailer []byte
	control []byte
	jumps   []time.Time // the latest, oldest first
	retry   time.Duration
	retryAt time.Time
	kick    chan struct{} // of its own goroutine

	// What follows belongs to the loop, for finding viewers that stall.
	acked   int64
	ackedAt time.Time
}

// state is how far a viewer is in its group, and what it waits for.
type state uint8

const (
	waiting state = iota // for a frame to begin at
	steady               // has everything that its group has
	behind               // there is more, and it is tried again at once
	blocked              // the socket is full
	ended                // everything was sent, the trailer too
	gone                 // closed
)

// request is what other goroutines ask of a viewer, until its owner applies it.
type request struct {
	control []byte
	pause   bool
	resume  bool
	close   error
}

// figures are what ViewerStats is made of.
type figures struct {
	bytes, frames, dropped, jumps atomic.Int64
	queued                        atomic.Int64  // by the kernel, at the latest scan
	seq                           atomic.Uint64 // counts when joined is set
	joined                        atomic.Bool
}

// Name returns what ViewerOptions said.
func (v *Viewer) Name() string { return v.options.Name }

// Stream returns the stream that v is sent.
func (v *Viewer) Stream() *Stream { return v.stream }

// Since returns when v was added.
func (v *Viewer) Since() time.Time { return v.since }

// Done is closed when v is, and nothing is sent to it any more.
func (v *Viewer) Done() <-chan struct{} { return v.done }

// Err returns why v was closed, or nil when it is not: ErrEnded, ErrStalled,
// ErrSlow, ErrControl, what Close was given, or the connection's error.
func (v *Viewer) Err() error {
	select {
	case <-v.done:
		return v.err
	default:
		return nil
	}
}

// Close closes v and its connection, for the reason err; nil is ErrClosed.
// What waits for the connection is dropped. A second Close does nothing.
func (v *Viewer) Close(err error) {
	if err == nil {
		err = ErrClosed
	}
	v.ask(func(r *request) error {
		if r.close == nil {
			r.close = err
		}
		if v.alone {
			v.conn.SetWriteDeadline(time.Unix(1, 0)) // it may be in a Write
		}
		return nil
	})
}

// Control sends p, which is copied, between two messages, as soon as may be: an
// answer to a ping, a status. Until there is a first frame that is before
// everything else. When more waits than WriterOptions.Control
// allows, v is closed, and Control returns ErrControl; it returns ErrClosed
// when v was closed before.
func (v *Viewer) Control(p []byte) error {
	return v.ask(func(r *request) error {
		if len(r.control)+len(p) > v.writer.options.Control {
			if r.close == nil {
				r.close = ErrControl
			}
			return ErrControl
		}
		r.control = append(r.control, p...)
		return nil
	})
}

// Pause stops sending frames, or begins again at the newest key frame. Control
// goes out all the same.
func (v *Viewer) Pause(on bool) {
	v.ask(func(r *request) error {
		r.pause, r.resume = on, !on
		return nil
	})
}

func (v *Viewer) ask(change func(*request) error) error {
	select {
	case <-v.done:
		return ErrClosed
	default:
	}
	v.mu.Lock()
	err := change(&v.asked)
	first := !v.told
	v.told = true
	v.mu.Unlock()
	if first {
		v.wake()
	}
	return err
}

// wake makes v's owner apply the request.
func (v *Viewer) wake() {
	if v.alone {
		v.nudge()
		return
	}
	v.loop.ask(v)
}

// nudge wakes the viewer's own goroutine.
func (v *Viewer) nudge() {
	select {
	case v.kick <- struct{}{}:
	default:
	}
}

// take returns the request and clears it. Only the owner calls it.
func (v *Viewer) take() request {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.asked
	v.asked, v.told = request{}, false
	return r
}

// heed applies the request to v. It returns the reason if v must be closed.
func (v *Viewer) heed() error {
	r := v.take()
	if r.close != nil {
		return r.close
	}
	if len(r.control) > 0 {
		if len(v.control)+len(r.control) > v.writer.options.Control {
			return ErrControl
		}
		v.control = append(v.control, r.control...)
	}
	switch {
	case r.pause:
		v.paused = true
	case r.resume && v.paused:
		v.paused, v.cursor.moved = false, v.cursor.begun
	}
	return nil
}
