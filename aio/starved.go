package aio

import (
	"container/list"
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
	hungry map[*Conn[S]]*hungry[S] // those that wait; for the goroutine of the callbacks

	mu      sync.Mutex
	turns   list.List // of *hungry[S], whose turn has not come
	feeding bool      // the goroutine is there
	over    bool

	stop chan error // closed at the end
	feed sync.WaitGroup
}

type hungry[S any] struct {
	conn *Conn[S]
	size int           // of the memory for its read, in bytes
	late *time.Timer   // ends it in time, or nil
	turn *list.Element // nil when the goroutine has it; guarded by mu
}

// starve has c read again when there is memory for that. Its read stays pending until then, and
// ends as late as a wait for bytes would.
func (l *loop[S]) starve(c *Conn[S]) {
	c.pending = true
	until := timeLimit(c.idle)
	if !c.opened {
		until = c.secure.until
	}
	h := &hungry[S]{conn: c, size: min(blocks.SmallRoom, l.watcher.mostRead)}
	if !until.IsZero() {
		h.late = time.AfterFunc(time.Until(until), func() { _ = c.Do(h.tooLate) })
	}
	if a := c.LocalAddr(); a != nil && op.InMessages(a.Network()) {
		h.size = l.watcher.mostRead
	}
	s := &l.starved
	if s.hungry == nil {
		s.hungry = make(map[*Conn[S]]*hungry[S])
	}
	s.hungry[c] = h
	s.mu.Lock()
	defer s.mu.Unlock()
	h.turn = s.turns.PushBack(h)
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
	if s.feeding = s.turns.Len() > 0 && !s.over; !s.feeding {
		return nil
	}
	h := s.turns.Remove(s.turns.Front()).(*hungry[S])
	h.turn = nil
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
	if !s.over && s.stop != nil {
		close(s.stop)
	}
	s.over = true
	s.mu.Unlock()
	s.feed.Wait()
}

// leave says that c, which ends or can be read, waits no longer, if it does.
func (s *starved[S]) leave(c *Conn[S]) {
	h := s.hungry[c]
	if h == nil {
		return
	}
	delete(s.hungry, c)
	c.pending = c.secure != nil && c.secure.full
	if h.late != nil {
		h.late.Stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.turn != nil {
		s.turns.Remove(h.turn)
		h.turn = nil
	}
}

// waits says that it still does: what is called here may have been under way.
func (h *hungry[S]) waits() bool { return h.conn.loop.starved.hungry[h.conn] == h }

// served goes on with the connection in room, transferred. TLS has kept beyond the budget what
// has come, and takes its room by itself.
func (h *hungry[S]) served(room mem.Slab) {
	c := h.conn
	if !h.waits() {
		room.Release()
		return
	}
	c.loop.starved.leave(c)
	if c.secure != nil {
		room.Release()
		room = mem.Slab{}
	}
	c.proceedIn(room)
}

// refused ends the connection, which needs more than the whole budget has.
func (h *hungry[S]) refused(err error) {
	if h.waits() {
		h.conn.end(err)
	}
}

// tooLate ends the connection, which has waited as long as it may.
func (h *hungry[S]) tooLate() {
	if h.waits() {
		h.conn.end(h.conn.starving())
	}
}
