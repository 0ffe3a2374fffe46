package rtmp

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// Two ends that each send much more than the sockets hold, and want acknowledgements and answers to
// pings meanwhile, both get everything.
func TestBothEndsSendMuch(t *testing.T) {
	o := Options{WindowAckSize: leastWindow}
	s, c, _ := linkServed(t, Publish, o, o)
	var running sync.WaitGroup
	for _, side := range []*linkSide{s, c} {
		running.Go(func() { sendMuch(t, side) })
		running.Go(func() { receiveMuch(t, side) })
	}
	running.Wait()
}

// The same where both ends are full before either reads: what has to be answered then comes
// while a writer waits that began when nothing was being read.
func TestBothEndsAreFullBeforeTheyRead(t *testing.T) {
	o := Options{WindowAckSize: leastWindow}
	s, c, _ := linkServed(t, Publish, o, o)
	var running sync.WaitGroup
	for _, side := range []*linkSide{s, c} {
		running.Go(func() { sendMuch(t, side) })
	}
	for _, side := range []*linkSide{s, c} {
		// A writer that goes on lets the lock go between its messages.
		for held := time.Now(); time.Since(held) < 200*time.Millisecond; runtime.Gosched() {
			if side.mu.TryLock() {
				side.mu.Unlock()
				held = time.Now()
			}
		}
	}
	for _, side := range []*linkSide{s, c} {
		running.Go(func() { receiveMuch(t, side) })
	}
	running.Wait()
}

const muchMessages, muchSize = 60, 1 << 20

func sendMuch(t *testing.T, side *linkSide) {
	for n := range muchMessages {
		m := Message{Type: TypeVideo, StreamID: 1, Time: uint32(n), Payload: mem.Wrap(make([]byte, muchSize), nil)}
		if err := side.WriteMessage(m); err != nil {
			t.Errorf("message %d: %v", n, err)
			return
		}
		if err := side.Ping(uint32(n)); err != nil {
			t.Errorf("ping %d: %v", n, err)
			return
		}
	}
}

func receiveMuch(t *testing.T, side *linkSide) {
	for n := 0; n < muchMessages; {
		m, err := side.ReadMessage()
		if err != nil {
			t.Errorf("after %d messages: %v", n, err)
			return
		}
		if m.Type == TypeVideo {
			if int(m.Time) != n || m.Payload.Len() != muchSize {
				t.Errorf("message %d has time %d and %d bytes", n, m.Time, m.Payload.Len())
			}
			n++
		}
		m.Release()
	}
}

// What has to be answered while a writer has the connection is answered when that is done: every
// ping, in order, and of the acknowledgements the newest.
func TestRepliesThatWaitAreAllSent(t *testing.T) {
	answered := make(chan uint32, 100)
	s, c, _ := linkServed(t, Publish, Options{WindowAckSize: leastWindow}, Options{WindowAckSize: leastWindow, OnEvent: func(e Event, value uint32) {
		if e == EventPingResponse {
			answered <- value
		}
	}})
	const pings = 5
	s.lock() // as a writer that waits for its peer
	read := make(chan error, 1)
	go func() {
		for range pings {
			m, err := s.ReadMessage()
			if err != nil {
				read <- err
				return
			}
			m.Release()
			read <- nil
		}
	}()
	for n := range uint32(pings) {
		if err := c.Ping(n); err != nil {
			t.Fatal(err)
		}
		m := Message{Type: TypeVideo, StreamID: 1, Payload: mem.Wrap(make([]byte, 2*leastWindow), nil)}
		if err := errors.Join(c.WriteMessage(m), c.Flush()); err != nil {
			t.Fatal(err)
		}
		if err := <-read; err != nil {
			t.Fatal(err)
		}
	}
	s.late.mu.Lock()
	acks, newest := 0, uint32(0)
	for _, p := range s.late.list {
		if p.typ == TypeAcknowledgement {
			acks, newest = acks+1, p.value
		}
	}
	s.late.mu.Unlock()
	if acks != 1 || newest < 2*(pings-1)*leastWindow {
		t.Errorf("%d acknowledgements wait, the newest of %d bytes", acks, newest)
	}
	s.mu.Unlock()
	go func() {
		_, err := c.ReadMessage()
		read <- err
	}()
	for n := range uint32(pings) {
		select {
		case value := <-answered:
			if value != n {
				t.Errorf("answer %d is to ping %d", n, value)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%d of %d pings are answered", n, pings)
		}
	}
	c.conn.Close()
	<-read
}
