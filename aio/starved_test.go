package aio

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// starving returns connections of one loop that wait for memory, of which the program has all.
func starving(t *testing.T, n int) (*loop[int], []*Conn[int]) {
	const budget = 64 << 10
	memory := mem.New(mem.Options{Name: "starved", Budget: budget, Leak: mem.LeakTrace})
	sluicetest.NoLeaks(t, memory)
	all := memory.Get(budget)
	options := Options{Driver: Std, Allocator: memory}
	h := &ConnHandler[int]{IdleTimeout: time.Hour, Buf: func(*Conn[int], mem.Buf) error { return nil }}
	if err := h.prepare(&options); err != nil {
		t.Fatal(err)
	}
	w, err := NewWatcherOptions(options)
	if err != nil {
		t.Fatal(err)
	}
	l := h.loopOf(w)
	t.Cleanup(func() {
		_ = w.Close()
		l.end()
		all.Release()
	})
	conns := make([]*Conn[int], n)
	for i := range conns {
		near, far := net.Pipe()
		t.Cleanup(func() { _ = far.Close() })
		conns[i] = newConn(l, near)
		conns[i].open()
		l.starve(conns[i])
	}
	return l, conns
}

// Nothing is kept of a connection that ends, or begins to, while it waits for memory: no timer, which
// would cut off what is still to go out, and no place in the queue.
func TestConnsThatEndStarveNoMore(t *testing.T) {
	l, conns := starving(t, 100)
	var waits []*hungry[int]
	for i, c := range conns {
		waits = append(waits, l.starved.hungry[c])
		if i%2 == 0 {
			c.end(errors.New("a reason"))
			continue
		}
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if c.finish(net.ErrClosed); c.phase != finishing {
			t.Fatalf("phase %d while bytes wait for the peer", c.phase)
		}
	}
	for _, h := range waits {
		if h.late.Stop() {
			t.Fatal("the timer of a connection that has ended goes on")
		}
	}
	l.starved.mu.Lock()
	defer l.starved.mu.Unlock()
	if n := l.starved.turns.Len(); n+len(l.starved.hungry) > 0 {
		t.Errorf("%d turns and %d connections are left", n, len(l.starved.hungry))
	}
}

// What ends a wait may be under way when another has ended it: a connection that is read from again
// goes on.
func TestEndsOfAWaitForMemoryThatIsOver(t *testing.T) {
	l, conns := starving(t, 1)
	c := conns[0]
	h := l.starved.hungry[c]
	l.starved.leave(c)
	c.pending = true // a read is under way
	h.tooLate()
	h.refused(mem.ErrBudget)
	h.served(l.watcher.memory.Slab(h.size))
	if c.phase != serves || !c.pending {
		t.Errorf("phase %d, a read is under way: %v", c.phase, c.pending)
	}
	if n := l.watcher.Stats().Pending; n > 0 {
		t.Errorf("%d more reads are under way", n)
	}
}
