package aio_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// When the program keeps all the memory that the budget has, nothing is read and no connection
// is closed; when it gives that back, the bytes come that were sent meanwhile.
func TestConnsWaitForMemory(t *testing.T) {
	for _, driver := range driversHere(t) {
		const budget, conns, size = 64 << 10, 3, 100_000
		memory := mem.New(mem.Options{Name: "budget", Budget: budget, Leak: mem.LeakTrace})
		sluicetest.NoLeaks(t, memory)
		all := memory.Get(budget)
		came := make(chan int, 1000)
		closed := make(closings, conns)
		h := &aio.ConnHandler[int]{
			Buf: func(_ *aio.Conn[int], b mem.Buf) error {
				came <- b.Len()
				b.Release()
				return nil
			},
			Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
		}
		s := serveConns(t, h, aio.Server{Options: aio.Options{Driver: driver, Allocator: memory}})
		var clients []net.Conn
		for range conns {
			c := s.dial()
			clients = append(clients, c)
			go c.Write(make([]byte, size))
		}
		yieldUntil(t, "a place in the queue, or an end", func() bool { return memory.Stats().Budget.Waiting == 1 || len(closed) > 0 })
		all.Release()
		for got := 0; got < conns*size; {
			select {
			case n := <-came:
				got += n
			case err := <-closed:
				t.Fatalf("%v: a connection is closed with %v when memory is short", driver, err)
			}
		}
		for _, c := range clients {
			c.Close()
			if err := closed.wait(t); err != io.EOF {
				t.Errorf("%v: a connection is closed with %v", driver, err)
			}
		}
		s.end()
	}
}

// A server ends while its connections wait for memory.
func TestEndOfConnsThatWaitForMemory(t *testing.T) {
	for _, driver := range driversHere(t) {
		const budget = 64 << 10
		memory := mem.New(mem.Options{Name: "budget", Budget: budget, Leak: mem.LeakTrace})
		sluicetest.NoLeaks(t, memory)
		all := memory.Get(budget)
		closed := make(closings, 1)
		watchers := make(chan *aio.Watcher, 1)
		h := &aio.ConnHandler[int]{
			Buf:    func(_ *aio.Conn[int], b mem.Buf) error { b.Release(); return nil },
			Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
		}
		s := serveConns(t, h, aio.Server{
			Options: aio.Options{Driver: driver, Allocator: memory},
			Started: func(w *aio.Watcher, _ net.Listener) error { watchers <- w; return nil },
		})
		if _, err := s.dial().Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		w := <-watchers
		yieldUntil(t, "a read that is refused", func() bool { return w.Stats().Reads > 0 })
		s.end()
		if err := closed.wait(t); err != aio.ErrWatcherClosed {
			t.Errorf("%v: the connection is closed with %v", driver, err)
		}
		all.Release()
	}
}

// Connections that fill the budget with what they keep of half messages, and whose peers have sent
// the rest, end by IdleTimeout: it holds for a wait for memory too. Each is sent more than the
// budget, so that none has read all of it and waits for the peer.
func TestConnsThatWaitForEachOtherEnd(t *testing.T) {
	for _, driver := range driversHere(t) {
		const budget, conns, sent = 64 << 10, 10, 80_000
		memory := mem.New(mem.Options{Name: "budget", Budget: budget, Leak: mem.LeakTrace})
		sluicetest.NoLeaks(t, memory)
		closed := make(closings, conns)
		h := &aio.ConnHandler[[]mem.Buf]{
			IdleTimeout: 100 * time.Millisecond,
			Buf: func(c *aio.Conn[[]mem.Buf], b mem.Buf) error {
				c.State = append(c.State, b) //sluice:moved
				return nil
			},
			Closed: func(c *aio.Conn[[]mem.Buf], reason error) {
				for i := range c.State {
					c.State[i].Release()
				}
				closed <- reason
			},
		}
		s := serveConns(t, h, aio.Server{Options: aio.Options{Driver: driver, Allocator: memory}})
		for range conns {
			if _, err := s.dial().Write(make([]byte, sent)); err != nil {
				t.Fatal(err)
			}
		}
		for range conns {
			if err := closed.wait(t); !timedOut(err, "the budget had no memory to read into for ") {
				t.Errorf("%v: a connection is closed with %v", driver, err)
			}
		}
		s.end()
	}
}
