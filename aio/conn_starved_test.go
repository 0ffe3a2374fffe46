package aio_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Others always wait for memory too, and what comes back goes to the first in the queue:
// connections that only asked now and then would get nothing for ever.
func TestStarvedConnsHaveTheirTurnAmongOthersThatWait(t *testing.T) {
	for _, driver := range driversHere(t) {
		const budget, conns, size = 16 << 10, 5, 20_000
		memory := mem.New(mem.Options{Name: "budget", Budget: budget, Leak: mem.LeakTrace})
		sluicetest.NoLeaks(t, memory)
		came := make(chan int, 1000)
		h := &aio.ConnHandler[int]{Buf: func(_ *aio.Conn[int], b mem.Buf) error {
			came <- b.Len()
			b.Release()
			return nil
		}}
		s := serveConns(t, h, aio.Server{Options: aio.Options{Driver: driver, Allocator: memory}})
		var stop atomic.Bool
		var others sync.WaitGroup
		for range 6 { // four fit, so that two wait
			others.Go(func() {
				for !stop.Load() {
					b, err := memory.GetContext(t.Context(), 4096)
					if err != nil {
						t.Error(err)
						return
					}
					runtime.Gosched()
					b.Release()
				}
			})
		}
		for range conns {
			c := s.dial()
			go c.Write(make([]byte, size))
		}
		for got := 0; got < conns*size; {
			got += <-came
		}
		stop.Store(true)
		others.Wait()
		s.end()
	}
}

// What can never fit is an error, and no wait.
func TestConnsThatNeedMoreThanTheBudgetAreClosed(t *testing.T) {
	for _, driver := range driversHere(t) {
		memory := mem.New(mem.Options{Name: "tiny", Budget: 100, Leak: mem.LeakTrace})
		sluicetest.NoLeaks(t, memory)
		closed := make(closings, 1)
		h := &aio.ConnHandler[int]{
			Buf:    func(_ *aio.Conn[int], b mem.Buf) error { b.Release(); return nil },
			Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
		}
		s := serveConns(t, h, aio.Server{Options: aio.Options{Driver: driver, Allocator: memory}})
		if _, err := s.dial().Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := closed.wait(t); !errors.Is(err, mem.ErrBudget) {
			t.Errorf("%v: the connection is closed with %v", driver, err)
		}
		s.end()
	}
}

// Random histories: the program keeps what it gets for a while, stops reading and closes,
// and others take memory. No connection starves that could be read, and none loses bytes.
func TestHistoriesOfStarvedConns(t *testing.T) {
	seed := sluicetest.Seed(t)
	histories := 8
	if testing.Short() {
		histories = 2
	}
	for _, driver := range driversHere(t) {
		for i := range histories {
			starvedHistory(t, driver, rand.New(rand.NewPCG(seed, uint64(i))))
			if t.Failed() {
				t.Fatalf("%v, history %d", driver, i)
			}
		}
	}
}

// meal is the state of a connection.
type meal struct {
	rng  *rand.Rand
	got  int
	next byte
}

func starvedHistory(t *testing.T, driver aio.Driver, rng *rand.Rand) {
	budget := int64(8<<10 + rng.IntN(64<<10))
	memory := mem.New(mem.Options{Name: "starved", Budget: budget, Leak: mem.LeakTrace})
	sluicetest.NoLeaks(t, memory)
	kept := make(chan mem.Buf, 1<<16)
	var conns sync.WaitGroup
	var number atomic.Uint64
	seed := rng.Uint64()
	h := &aio.ConnHandler[meal]{
		Open: func(c *aio.Conn[meal]) error {
			c.State.rng = rand.New(rand.NewPCG(seed, number.Add(1)))
			return nil
		},
		Closed: func(c *aio.Conn[meal], reason error) {
			if reason != io.EOF && reason != net.ErrClosed {
				t.Errorf("closed with %v after %d bytes", reason, c.State.got)
			}
			conns.Done()
		},
	}
	h.Buf = func(c *aio.Conn[meal], b mem.Buf) error {
		m := &c.State
		for _, p := range b.Bytes() {
			if p != m.next {
				t.Errorf("byte %d is %d, want %d", m.got, p, m.next)
			}
			m.next++
		}
		m.got += b.Len()
		switch m.rng.IntN(12) {
		case 0:
			c.Pause()
			go func() { _ = c.Do(c.Resume) }()
		case 1:
			if m.rng.IntN(20) == 0 {
				_ = c.Close()
			}
		}
		if m.rng.IntN(2) == 0 {
			b.Release()
		} else {
			kept <- b //sluice:moved
		}
		return nil
	}
	s := serveConns(t, h, aio.Server{
		Watchers: 1 + rng.IntN(2),
		Options:  aio.Options{Driver: driver, Allocator: memory, BufferSize: []int{0, 700, 4096}[rng.IntN(3)]},
	})
	var releaser, taker, clients sync.WaitGroup
	stop, over := make(chan struct{}), make(chan struct{})
	releaser.Go(func() { // gives back what the program keeps, a few at once
		var held []mem.Buf
		own := rand.New(rand.NewPCG(seed, 0))
		for ended := false; !ended; {
			quiet := false
			select {
			case b := <-kept:
				held = append(held, b) //sluice:moved
			case <-over:
				ended = true
			default:
				quiet = true // the connections starve, or have ended
				runtime.Gosched()
			}
			if ended || quiet || own.IntN(4) == 0 {
				for i := range held {
					held[i].Release()
				}
				held = held[:0]
			}
		}
	})
	taker.Go(func() { // takes memory too
		own := rand.New(rand.NewPCG(seed, 1))
		for {
			select {
			case <-stop:
				return
			default:
			}
			b, err := memory.GetContext(t.Context(), 1+own.IntN(4096))
			if err != nil {
				t.Error(err)
				return
			}
			runtime.Gosched()
			b.Release()
		}
	})
	for range 3 + rng.IntN(30) {
		conns.Add(1)
		c, sizes := s.dial(), make([]int, 1+rng.IntN(20))
		for i := range sizes {
			sizes[i] = 1 + rng.IntN(1<<rng.IntN(14))
		}
		clients.Go(func() {
			next := byte(0)
			for _, n := range sizes {
				p := make([]byte, n)
				for i := range p {
					p[i], next = next, next+1
				}
				if _, err := c.Write(p); err != nil {
					return // the server has closed it
				}
			}
			c.Close()
		})
	}
	clients.Wait()
	conns.Wait()
	close(stop)
	taker.Wait() // what it waits for is given back meanwhile
	close(over)
	releaser.Wait()
	for len(kept) > 0 {
		b := <-kept
		b.Release()
	}
	s.end()
	if b := memory.Stats().Budget; b.Waiting != 0 {
		t.Errorf("in the end %d wait", b.Waiting)
	}
}
