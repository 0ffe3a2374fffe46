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
	waiting []hungry[S]
	feeding bool // the goroutine is there
	over    bool

	stop chan error // closed at the end
	feed sync.WaitGroup
}

type hungry[S any] struct {
	conn *Conn[S]
	size int // of the memory for its read, in bytes
}

// starve has c read again when there is memory for that. Its read stays pending until then. A
// handshake has no deadline of a read meanwhile, and ends in time all the same.
func (l *loop[S]) starve(c *Conn[S]) {
	c.pending = true
	if s := c.secure; s != nil {
		s.starves = true
		if !c.opened {
			s.late = time.AfterFunc(time.Until(s.until), func() {
				_ = c.Do(func() {
					if s.starves && !c.opened {
						c.end(ErrDeadline)
					}
				})
			})
		}
	}
	h := hungry[S]{c, min(blocks.SmallRoom, l.watcher.mostRead)}
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

// next takes out the connection that has starved longest.
func (s *starved[S]) next() (h hungry[S], ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.feeding = len(s.waiting) > 0 && !s.over; !s.feeding {
		s.waiting = nil
		return h, false
	}
	h = s.waiting[0]
	s.waiting[0] = hungry[S]{}
	s.waiting = s.waiting[1:]
	return h, true
}

// feed is the goroutine.
func (l *loop[S]) feed() {
	for {
		h, ok := l.starved.next()
		if !ok {
			return
		}
		room, err := awaitSlab(l.watcher.memory, h.size, 0, l.starved.stop)
		next := func() { h.conn.fed(room) }
		if err != nil {
			next = func() { h.conn.refused(err) }
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

// fed goes on with c, which has starved, in room, transferred. TLS has kept beyond the budget what
// has come, and takes its room by itself.
func (c *Conn[S]) fed(room mem.Slab) {
	c.pending = false
	if s := c.secure; s != nil {
		room.Release()
		s.starves, c.pending = false, s.full
		s.stopLate()
	}
	c.proceedIn(room)
}

// refused ends c, which has starved and needs more than the whole budget has.
func (c *Conn[S]) refused(err error) {
	c.pending = false
	if c.phase == serves {
		c.end(err)
	}
}
