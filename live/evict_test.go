package live

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A viewer is evicted while a write to it is in flight: over a socket that is full, with
// a part of a large frame sent, in a Write of TLS that blocks, and with TLS that does not wait.
func TestEvictionDuringAWrite(t *testing.T) {
	for _, kind := range []string{"socket", "tls", "wire"} {
		alloc := mem.New(mem.Options{Name: t.Name()})
		sluicetest.NoLeaks(t, alloc)
		h := NewHub(HubOptions{Stream: StreamOptions{Allocator: alloc}})
		p := mustPublish(t, h, "s", PublishOptions{})
		w := newWriter(t, WriterOptions{Stall: time.Hour, Lag: time.Hour})
		s, c := pair(t)
		var conn net.Conn = s
		switch kind {
		case "tls":
			conn, _ = tlsPair(t, s, c)
		case "wire":
			conn, _ = wirePair(t, s, c)
		}
		v := add(t, w, conn, p.Stream(), ViewerOptions{FromStart: true})
		for i := range 4 { // the buffers of both sides hold less
			b := alloc.Get(8 << 20)
			copy(b.Bytes(), video(0, true, 10).body)
			if err := p.Publish(Frame{Type: 9, Time: uint32(i), Payload: b}); err != nil {
				t.Fatal(err)
			}
		}
		for end := time.Now().Add(eventTimeout); v.figures.queued.Load() < minEvicted; {
			if time.Now().After(end) {
				t.Fatalf("%s: the kernel holds %d bytes", kind, v.figures.queued.Load())
			}
			<-time.After(time.Millisecond)
		}
		w.Evict(1)
		waitFor(t, v.Done(), "end of the viewer: "+kind)
		if !errors.Is(v.Err(), ErrMemory) {
			t.Errorf("%s: closed for %v", kind, v.Err())
		}
		if n := p.Stream().Stats().Evicted; n != 1 {
			t.Errorf("%s: %d were evicted", kind, n)
		}
		w.Close()
		h.Close()
	}
}

// A frame that a viewer has half of is let go by the ring: the viewer gets the rest of it
// all the same, then goes on at the newest key frame.
func TestTrimUnderAViewer(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{GOPFrames: 2, Backlog: time.Nanosecond, Ahead: time.Hour}})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	l := newHandLoop(t)
	v, peer := l.view(p.Stream(), ViewerOptions{FromStart: true})
	large := video(0, true, 4<<20)
	send(t, p, large)
	l.round(time.Millisecond)
	if v.cursor.tail == nil {
		t.Fatal("the viewer has nothing or everything")
	}
	var last tag
	for i := range 10 {
		last = video(uint32(i+1)*40, true, 100)
		send(t, p, last)
	}
	h.Trim()
	if first := p.Stream().ring.first; first == 0 {
		t.Fatal("the ring still has the frame")
	}
	got := make([]byte, 13+len(large.body)+15+len(last.body)+15)
	done := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(peer, got)
		done <- err
	}()
	for end := time.Now().Add(eventTimeout); ; {
		l.round(time.Since(l.now))
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			tags := fileOf(t, bytes.Clone(got))
			equalTags(t, tags, []tag{large, last})
			return
		default:
		}
		if time.Now().After(end) {
			t.Fatal("the viewer does not get the rest")
		}
	}
}
