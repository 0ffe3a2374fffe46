package aio_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// A connection that waited for another one's writes is not taken for it when the pace
// has changed meanwhile.
func TestPaceThatChangesMeanwhile(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		closed := make(chan *aio.Conn[int], 4)
		conns := make(chan *aio.Conn[int], 4)
		h := &aio.ConnHandler[int]{
			TLS:    config,
			Open:   func(c *aio.Conn[int]) error { conns <- c; return nil },
			Data:   func(c *aio.Conn[int], p []byte) error { c.State++; _, err := c.Write(p); return err },
			Closed: func(c *aio.Conn[int], _ error) { closed <- c },
		}
		s := serveConns(t, h, aio.Server{Options: o})
		client, paced := s.dial(), <-conns
		slowClient, slow := s.dial(), <-conns
		otherClient, other := s.dial(), <-conns
		if _, err := slow.Write(make([]byte, 16<<20)); err != nil {
			t.Fatal(err)
		}
		within := func(f func()) {
			done := make(chan struct{})
			if err := slow.Do(func() { f(); close(done) }); err != nil {
				t.Fatal(err)
			}
			<-done
		}
		within(func() { paced.PaceBy(slow) })
		converse(t, client, 1) // now it waits for the writes of slow
		within(func() { paced.PaceBy(other) })
		slowClient.Close()
		if c := <-closed; c != slow {
			t.Error("another connection than the one whose client has left is closed")
		}
		converse(t, client, 1000)
		converse(t, otherClient, 1000)
		s.end()
	})
}

// A connection that takes nothing is closed after WriteTimeout when another one waits for it,
// which goes on then.
func TestWriteTimeoutOfAPace(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		err := errors.New("not tried")
		for timeout := 50 * time.Millisecond; err != nil; timeout *= 2 {
			if timeout > 10*time.Second { // a shorter one is too short for a busy machine
				t.Fatal(err)
			}
			err = waitForAPace(t, config, o, timeout)
		}
	})
}

func waitForAPace(t *testing.T, config *tls.Config, o aio.Options, timeout time.Duration) error {
	type closing struct {
		who    *aio.Conn[int]
		reason error
	}
	closed, conns := make(chan closing, 2), make(chan *aio.Conn[int], 2)
	s := serveConns(t, &aio.ConnHandler[int]{
		TLS:          config,
		WriteTimeout: timeout,
		Open:         func(c *aio.Conn[int]) error { conns <- c; return nil },
		Data:         func(c *aio.Conn[int], p []byte) error { _, err := c.Write(p); return err },
		Closed:       func(c *aio.Conn[int], reason error) { closed <- closing{c, reason} },
	}, aio.Server{Options: o})
	defer s.end()
	client, err := s.tryDial()
	if err != nil {
		return err
	}
	defer client.Close()
	if err := tryConverse(client, 1); err != nil {
		return err
	}
	paced := <-conns
	stuck, err := s.tryDial()
	if err != nil {
		return err
	}
	defer stuck.Close()
	var slow *aio.Conn[int]
	select {
	case slow = <-conns:
	case c := <-closed:
		return c.reason
	}
	if err := slow.Do(func() {
		paced.PaceBy(slow)
		if _, err := slow.Write(make([]byte, 16<<20)); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := tryConverse(client, 1); err != nil { // a read was under way; now paced waits
		return err
	}
	select {
	case c := <-closed:
		if c.who != slow || !errors.Is(c.reason, aio.ErrDeadline) {
			return fmt.Errorf("%p is closed, which is not %p, or not by its timeout: %w", c.who, slow, c.reason)
		}
	case <-time.After(eventTimeout):
		t.Fatal("the connection that takes nothing stays open")
	}
	return tryConverse(client, 1000)
}
