package aio_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// A loop that comes late, as where a callback or the machine stands still, ends no connection as
// silent whose bytes have come in time, however many there are and however much has come.
func TestALateLoopReadsBeforeDeadlinesExpire(t *testing.T) {
	for _, driver := range driversHere(t) {
		if driver == aio.Std { // its reads do not wait for the loop
			continue
		}
		for _, bytes := range []int{1, 16 << 10} { // the second is more than is read in one round
			for _, counted := range []bool{false, true} {
				lateLoop(t, driver, bytes, counted)
			}
		}
	}
}

func lateLoop(t *testing.T, driver aio.Driver, bytes int, counted bool) {
	const conns, idle = 300, 20 * time.Millisecond
	var all []*aio.Conn[int]
	opened, stands, sent, over := make(chan bool, conns), make(chan bool), make(chan bool), make(chan bool, conns)
	h := &aio.ConnHandler[int]{
		Open: func(c *aio.Conn[int]) error {
			all = append(all, c)
			c.Pause()
			opened <- true
			return nil
		},
		Closed: func(c *aio.Conn[int], reason error) {
			if errors.Is(reason, aio.ErrDeadline) && c.State < bytes {
				t.Errorf("%v: a connection is closed with %v after %d bytes of %d", driver, reason, c.State, bytes)
			}
			if c.State < bytes {
				over <- false
			}
		},
	}
	got := func(c *aio.Conn[int], n int) error {
		c.State += n
		if c.State >= bytes && c.State-n < bytes {
			c.SetIdleTimeout(0)
			over <- true
		}
		return nil
	}
	stand := func() {
		for _, c := range all {
			c.SetIdleTimeout(idle)
			c.Resume()
		}
		close(stands)
		<-sent
		<-time.After(2 * idle)
	}
	if counted {
		h.Buf = func(c *aio.Conn[int], b mem.Buf) error { n := b.Len(); b.Release(); return got(c, n) }
	} else {
		h.Data = func(c *aio.Conn[int], p []byte) error { return got(c, len(p)) }
	}
	s := serveConns(t, h, aio.Server{Options: aio.Options{Driver: driver}})
	var clients []io.Writer
	for range conns {
		clients = append(clients, s.dial())
		<-opened
	}
	if err := all[0].Do(stand); err != nil {
		t.Fatal(err)
	}
	<-stands
	for _, c := range clients {
		if _, err := c.Write(make([]byte, bytes)); err != nil {
			t.Fatal(err)
		}
	}
	close(sent)
	for range conns {
		<-over
	}
	s.end()
}
