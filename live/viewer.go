package live

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ViewerOptions say how one viewer wants a stream.
type ViewerOptions struct {
	// Name of the viewer, for logs and figures.
	Name string
	Form Form
	// Merge is this viewer's own; negative takes the writer's.
	Merge time.Duration
	// Adapt makes Merge the longest time: as long as the loop has little to do,
	// frames are sent as they come, and the more it has to do the longer they
	// are collected.
	Adapt bool
	// NoGOP starts at the next key frame instead of the newest.
	NoGOP bool
	// FromStart starts at the stream's first frame if everything is still
	// there: for viewers who have waited for the stream.
	FromStart bool
	// After starts behind the frame with this mark, if the stream has what follows
	// it: for a server that has lost the one it was sent the stream by.
	After Mark
	// Prelude is sent before everything else, when the first frame is: an
	// HTTP response header. Borrowed until Add returns.
	Prelude []byte
	// Trailer is sent when the stream is over. The viewer keeps it, without a copy:
	// viewers may share one, and it must not change.
	Trailer []byte
	// Unread says that nothing is read from the connection. Then the writer
	// finds out when the peer has closed it, its sending side only included, and
	// closes the viewer for ErrGone. What the peer sends is not looked at.
	Unread bool
	// OnReadable is called, on a goroutine of its own, when bytes have come from
	// the peer or its connection has ended: once after each AwaitReadable that
	// returned true. So a peer that says little needs no goroutine that reads.
	// Without Unread.
	OnReadable func()
	// OnClose is called once, on a goroutine of its own, when the viewer is
	// closed, with what Err returns.
	OnClose func(*Viewer, error)
}

// A Viewer is one connection that a Writer sends a stream to: a cursor into the
// stream's ring, and the rest of a message that the socket has not taken yet.
type Viewer struct {
	id      uint64
	stream  *Stream
	link    link
	owner   owner
	limits  *WriterOptions
	options viewerOptions
	since   time.Time
	figures figures
	inbox   inbox
	err     error // once it has ended

	// What follows belongs to the owner.
	cursor  cursor
	line    line
	control []byte
	state   state
	arrived bool // no longer counted in the stream's arriving
	paused  bool
	leaves  uint64 // it ends before the first key frame behind as many frames; 0: it does not

	// What follows belongs to the loop.
	task  task // the next try, when the socket is full
	pulse pulse
}

// viewerOptions are what is kept of ViewerOptions.
type viewerOptions struct {
	name      string
	merge     time.Duration
	adapt     bool
	fromStart bool
	trailer   []byte
	onClose   func(*Viewer, error)
	readable  func()
}

// owner sends to viewers: a loop, or a goroutine of one viewer's own.
type owner interface {
	// notify makes the owner apply what v was asked.
	notify(v *Viewer)
}

// state is how far a viewer is in its group, and what it waits for.
type state uint8

const (
	stateWaiting state = iota // for a frame to begin at
	stateSteady               // has everything that its group has
	stateBehind               // there is more, and it is tried again soon
	stateBlocked              // the socket is full
	stateEnded                // everything was sent, the trailer too
	stateClosed
)

// An inbox is what other goroutines ask of a viewer, until its owner applies it.
type inbox struct {
	mu       sync.Mutex
	asked    request
	notified bool          // the owner was notified
	over     bool          // the viewer has ended
	done     chan struct{} // closed then; nil until it is asked for
}

// end says that the viewer has ended.
func (b *inbox) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if b.done != nil {
		close(b.done)
	}
}

type request struct {
	control []byte
	close   error
	leaves  uint64 // as the viewer's
	pause   bool
	resume  bool
	again   bool // it was asked to pause before resume
}

// figures are what ViewerStats is made of.
type figures struct {
	bytes, frames, dropped, jumps atomic.Int64
	queued                        atomic.Int64  // by the kernel, at the latest look
	seq                           atomic.Uint64 // counts when joined is set
	joined                        atomic.Bool
	trail                         trail
}

func newViewer(conn net.Conn, s *Stream, limits *WriterOptions) *Viewer {
	now := time.Now()
	v := &Viewer{stream: s, link: newLink(conn), limits: limits, since: now}
	v.pulse.at = now
	v.line.joined = s.clock()
	return v
}

// attach counts v among those who read s, and reports whether that is not too
// late.
func (s *Stream) attach(v *Viewer, o ViewerOptions) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end.over && s.holders == 0 {
		return false
	}
	s.holders++
	s.arriving++
	if o.FromStart {
		s.endReservations(1)
	}
	s.sent.viewers.Add(1)
	v.cursor = newCursor(o.Form, &s.ring, o.FromStart, nil)
	v.cursor.noGOP = o.NoGOP
	if o.After != (Mark{}) {
		after := o.After // o is not kept
		v.cursor.behind = &after
	}
	if len(o.Prelude) > 0 {
		v.cursor.rest(s.clock()).add(slices.Clone(o.Prelude))
	}
	v.options = viewerOptions{o.Name, o.Merge, o.Adapt, o.FromStart, o.Trailer, o.OnClose, o.OnReadable}
	return true
}

func (v *Viewer) at() *task { return &v.task }

// Name returns what ViewerOptions said.
func (v *Viewer) Name() string { return v.options.name }

// Stream returns the stream that v is sent.
func (v *Viewer) Stream() *Stream { return v.stream }

// Since returns when v was added.
func (v *Viewer) Since() time.Time { return v.since }

// Done is closed when v is, and nothing is sent to it any more.
func (v *Viewer) Done() <-chan struct{} {
	b := &v.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done == nil {
		b.done = make(chan struct{})
		if b.over {
			close(b.done)
		}
	}
	return b.done
}

// Err returns why v was closed, or nil when it is not: one of the reasons among the
// package's errors, ErrClosed, what Close was given, or the connection's error.
func (v *Viewer) Err() error {
	v.inbox.mu.Lock()
	defer v.inbox.mu.Unlock()
	if !v.inbox.over {
		return nil
	}
	return v.err
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
		if v.link.waits {
			v.owner.(*solo).stop()
			v.link.conn.SetWriteDeadline(time.Unix(1, 0)) // it may be in a Write
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
		if len(r.control)+len(p) > v.limits.Control {
			if r.close == nil {
				r.close = ErrControl
			}
			return ErrControl
		}
		r.control = append(r.control, p...)
		return nil
	})
}

// Pause stops sending frames, or begins again at the newest key frame: also when both
// come at once, so that a viewer who has lost a picture gets that key frame again. With
// FormRaw a viewer that has had that one goes on behind what it had: packets do not go back.
// Control goes out all the same.
func (v *Viewer) Pause(on bool) {
	v.ask(func(r *request) error {
		r.pause, r.resume, r.again = on, !on, r.again || on
		return nil
	})
}

func (v *Viewer) ask(change func(*request) error) error {
	b := &v.inbox
	b.mu.Lock()
	if b.over {
		b.mu.Unlock()
		return ErrClosed
	}
	err := change(&b.asked)
	first := !b.notified
	b.notified = true
	b.mu.Unlock()
	if first {
		v.owner.notify(v)
	}
	return err
}

// take returns the request and clears it. Only the owner calls it.
func (b *inbox) take() request {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.asked
	b.asked, b.notified = request{}, false
	return r
}

// applyRequest does what was asked of v. It returns the reason if v must be closed.
func (v *Viewer) applyRequest() error {
	r := v.inbox.take()
	if r.close != nil {
		return r.close
	}
	if v.leaves == 0 {
		v.leaves = r.leaves
	}
	if len(r.control) > 0 {
		if len(v.control)+len(r.control) > v.limits.Control {
			return ErrControl
		}
		v.control = append(v.control, r.control...)
	}
	switch {
	case r.pause:
		v.paused = true
	case r.resume && (v.paused || r.again):
		v.paused, v.cursor.moved = false, v.cursor.begun
	}
	return nil
}
