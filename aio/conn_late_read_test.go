package aio_test

import (
	"errors"
	"io"
	"net"
	"runtime"
	"testing"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// What comes after Close, by a read that was under way, is released and not handed on.
func TestBytesThatComeAfterClose(t *testing.T) {
	for _, driver := range driversHere(t) {
		const size = 16 << 20
		opened, closed := make(chan *aio.Conn[int], 1), make(closings, 1)
		watchers := make(chan *aio.Watcher, 1)
		s := serveConns(t, &aio.ConnHandler[int]{
			Open: func(c *aio.Conn[int]) error { opened <- c; return nil },
			Buf: func(_ *aio.Conn[int], b mem.Buf) error {
				t.Errorf("%v: %d bytes after Close", driver, b.Len())
				b.Release()
				return nil
			},
			Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
		}, aio.Server{
			Options: aio.Options{Driver: driver},
			Started: func(w *aio.Watcher, _ net.Listener) error { watchers <- w; return nil },
		})
		client := s.dial()
		c, reads, closing := <-opened, make(chan struct{}), make(chan struct{})
		if err := c.Do(func() { close(reads) }); err != nil {
			t.Fatal(err)
		}
		<-reads // Open has returned: with a write that waits the connection would not be read before that is sent
		if _, err := c.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.Close(), c.Do(func() { close(closing) })); err != nil {
			t.Fatal(err)
		}
		<-closing
		if _, err := client.Write([]byte("late")); err != nil {
			t.Fatal(err)
		}
		w := <-watchers
		yieldUntil(t, "the read", func() bool { return w.Stats().Reads > 0 })
		if n, err := io.Copy(io.Discard, client); n != size || err != nil {
			t.Errorf("%v: the client reads %d bytes, %v", driver, n, err)
		}
		if err := closed.wait(t); err != net.ErrClosed {
			t.Errorf("%v: the reason is %v", driver, err)
		}
		s.end()
	}
}

// Memory that a connection has waited for goes back when it has ended meanwhile: before it gets
// the memory, or with its read, before that is carried out.
func TestMemoryForConnsThatHaveEnded(t *testing.T) {
	for _, driver := range driversHere(t) {
		endStarved(t, driver, true, 0)
		for i := range 20 {
			endStarved(t, driver, false, 50*i)
		}
	}
}

// endStarved closes a connection that waits for memory, before it gets that, or at the same time,
// so many yields later.
func endStarved(t *testing.T, driver aio.Driver, before bool, yields int) {
	const budget = 64 << 10
	memory := mem.New(mem.Options{Name: "budget", Budget: budget, Leak: mem.LeakTrace})
	sluicetest.NoLeaks(t, memory)
	all := memory.Get(budget)
	opened, closed := make(chan *aio.Conn[int], 1), make(closings, 1)
	s := serveConns(t, &aio.ConnHandler[int]{
		Open: func(c *aio.Conn[int]) error { opened <- c; return nil },
		Buf: func(_ *aio.Conn[int], b mem.Buf) error {
			if before {
				t.Errorf("%v: %d bytes after Close", driver, b.Len())
			}
			b.Release()
			return nil
		},
		Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
	}, aio.Server{Options: aio.Options{Driver: driver, Allocator: memory}})
	if _, err := s.dial().Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	c := <-opened
	yieldUntil(t, "the connection to wait for memory", func() bool { return memory.Stats().Budget.Waiting == 1 })
	if before {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	} else if err := c.Do(func() { // meanwhile what follows waits, and comes in one round
		all.Release()
		yieldUntil(t, "the memory to be given", func() bool { return memory.Stats().Budget.Waiting == 0 })
		for range yields {
			runtime.Gosched()
		}
		_ = c.Close()
	}); err != nil {
		t.Fatal(err)
	}
	if err := closed.wait(t); err != net.ErrClosed {
		t.Errorf("%v: the reason is %v", driver, err)
	}
	if before {
		all.Release()
	}
	s.end()
}

// Without a WriteTimeout a peer that takes nothing has DefaultGrace after Close.
func TestCloseWithoutAWriteTimeout(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes as long as DefaultGrace")
	}
	closed := make(closings, 4)
	var servers []*connServer
	for _, driver := range driversHere(t) {
		s := serveConns(t, &aio.ConnHandler[int]{
			Open: func(c *aio.Conn[int]) error {
				_, err := c.Write(make([]byte, 16<<20))
				return errors.Join(err, c.Close())
			},
			Data:   func(*aio.Conn[int], []byte) error { return nil },
			Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
		}, aio.Server{Options: aio.Options{Driver: driver}})
		s.dial()
		servers = append(servers, s)
	}
	for range servers {
		if err := closed.wait(t); err != net.ErrClosed {
			t.Errorf("the reason is %v", err)
		}
	}
	for _, s := range servers { // the end of each looks for goroutines of all
		s.stop()
	}
	for _, s := range servers {
		s.end()
	}
}
