package aio

import (
	"sync"
	"time"

	"github.com/sluice-go/sluice/aio/internal/blocks"
	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/internal/hooks"
	"github.com/sluice-go/sluice/mem"
)

// awaitSlab is what mem offers to readers: a place in the queue of a budget.
var awaitSlab = hooks.AwaitSlab.(func(a *mem.Allocator, n, held int, stop <-chan error) (mem.Slab, error))

// noteIdle is too: what is held by the parts of messages does not come back by itself.
var noteIdle = hooks.Idle.(func(a *mem.Allocator, held int))

// starved is the connections of a loop that the budget had nothing for. While there are
// any, a goroutine takes a place in the budget's queue for one after the other, in the
// order in which they began to starve. So they are woken by what others release, in turn
// with all else that waits there, and no room that one was given goes to another.
type starved[S any] struct {
	mu      sync.Mutex
	waiting []*hungry[S]
	feeding bool // the goroutine is there
	over    bool

	stop chan error // closed at the end
	feed sync.WaitGroup
}

type hungry[S any] struct {
	conn *Conn[S]
	size int         // of the memory for its read, in bytes
	late *time.Timer // ends it in time, or nil
	fed  bool        // it waits no longer; for the goroutine of the callbacks
}

// starve has c read again when there is memory for that. Its read stays pending until then, and
// ends as late as a wait for bytes would.
func (l *loop[S]) starve(c *Conn[S]) {
	c.pending = true
	until, shakes := timeLimit(c.idle), !c.opened
	if s := c.secure; s != nil {
		s.starves = true
		if shakes {
			until = s.until
		}
	}
	h := &hungry[S]{conn: c, size: min(blocks.SmallRoom, l.watcher.mostRead)}
	if c.secure != nil {
		c.secure.hurry = h.hurry
	}
	if !until.IsZero() {
		h.late = time.AfterFunc(time.Until(until), func() {
			_ = c.Do(func() {
				if !h.fed && shakes == !c.opened {
					c.end(c.starving())
				}
			})
		})
	}
	if a := c.LocalAddr(); a != nil && op.InMessages(a.Network()) {
		h.size = l.watcher.mostRead
	}
	s := &l.starved
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, h)
	if !s.feeding {
		s.feeding = true
		if s.stop == nil {
			s.stop = make(chan error)
		}
		s.feed.Go(l.feed)
	}
}

// next takes out the connection that has starved longest, or is nil.
func (s *starved[S]) next() *hungry[S] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.feeding = len(s.waiting) > 0 && !s.over; !s.feeding {
		s.waiting = nil
		return nil
	}
	h := s.waiting[0]
	s.waiting[0] = nil
	s.waiting = s.waiting[1:]
	return h
}

// feed is the goroutine.
func (l *loop[S]) feed() {
	for {
		h := l.starved.next()
		if h == nil {
			return
		}
		room, err := awaitSlab(l.watcher.memory, h.size, 0, l.starved.stop)
		next := func() { h.served(room) }
		if err != nil {
			next = func() { h.refused(err) }
		}
		if posted := l.watcher.driver.Post(next, nil, nil); posted != nil && room.Valid() {
			room.Release()
		}
	}
}

// end ends the goroutine. The connections that still starve are left to the caller.
func (s *starved[S]) end() {
	s.mu.Lock()
	s.over = true
	if s.stop != nil {
		close(s.stop)
	}
	s.mu.Unlock()
	s.feed.Wait()
}

// served goes on with the connection in room, transferred. TLS has kept beyond the budget what
// has come, and takes its room by itself.
func (h *hungry[S]) served(room mem.Slab) {
	if h.fed { // by hurry
		room.Release()
		return
	}
	c := h.over()
	if c.secure != nil {
		room.Release()
	}
	c.proceedIn(room)
}

// hurry goes on with the connection, of TLS, without waiting any longer.
func (h *hungry[S]) hurry() { h.over().proceed() }

// refused ends the connection, which needs more than the whole budget has.
func (h *hungry[S]) refused(err error) {
	if h.fed {
		return
	}
	if c := h.over(); c.phase == serves {
		c.end(err)
	}
}

// over says that the connection waits no longer, and returns it.
func (h *hungry[S]) over() *Conn[S] {
	h.fed, h.conn.pending = true, false
	if s := h.conn.secure; s != nil {
		s.starves, s.hurry, h.conn.pending = false, nil, s.full
	}
	if h.late != nil {
		h.late.Stop()
	}
	return h.conn
}
