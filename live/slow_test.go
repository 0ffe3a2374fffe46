package live

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A viewer that reads nothing falls out of the ring again and again, and is
// closed; one that reads loses nothing meanwhile.
func TestSlowViewer(t *testing.T) {
	alloc := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, alloc)
	h := NewHub(HubOptions{Stream: StreamOptions{Allocator: alloc, GOPBytes: 1 << 20, Backlog: time.Nanosecond, Ahead: time.Hour}})
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{Stall: time.Minute, Jumps: 1000, Lag: time.Hour})
	slow, slowEnd := pair(t)
	slow.SetWriteBuffer(64 << 10)
	fast, fastEnd := pair(t)
	sv := add(t, w, slow, p.Stream(), ViewerOptions{FromStart: true})
	fv := add(t, w, fast, p.Stream(), ViewerOptions{FromStart: true})

	var sent []tag
	read := make(chan []tag)
	received := make(chan int, 1000)
	go func() {
		var all []byte
		b := make([]byte, 1<<16)
		for {
			n, err := fastEnd.Read(b)
			all = append(all, b[:n]...)
			received <- len(all)
			if err != nil {
				close(received)
				break
			}
		}
		read <- fileOf(t, all)
	}()
	total, got := 13, 0
	for i := range 1000 {
		g := video(uint32(i)*40, i%25 == 0, 20000)
		send(t, p, g)
		sent = append(sent, g)
		if i == 0 { // when the ring has gone on it would begin later
			waitForFrames(t, sv, 1)
		}
		for total += len(g.body) + 15; got < total; {
			n, ok := <-received
			if !ok {
				t.Fatalf("the fast viewer was closed: %v", fv.Err())
			}
			got = n
		}
	}
	p.Close()
	go func() {
		for range received {
		}
	}()
	equalTags(t, <-read, sent)
	if st := fv.Stats(); st.Jumps != 0 || st.Dropped != 0 || st.Frames != int64(len(sent)) {
		t.Errorf("the fast viewer: %+v", st)
	}

	// What the slow one gets, when it reads at last, is whole tags, in order,
	// each as it was, and after each hole a key frame.
	tags := fileTags(t, slowEnd)
	last := -1
	for _, g := range tags {
		i := int(g.time / 40)
		if !g.equal(sent[i]) {
			t.Fatalf("the tag at %d is another one", g.time)
		}
		if i != last+1 && (i <= last || !g.key()) {
			t.Fatalf("after tag %d comes %d, which is no key frame", last, i)
		}
		last = i
	}
	if last != len(sent)-1 {
		t.Errorf("the last tag is %d of %d", last, len(sent))
	}
	st := sv.Stats()
	if st.Jumps == 0 {
		t.Error("the slow viewer was never moved on")
	}
	if st.Frames+st.Dropped != int64(len(sent)) || int(st.Frames) != len(tags) {
		t.Errorf("%d tags came of %d; figures: %+v", len(tags), len(sent), st)
	}
	h.Close()
	w.Close()
}

func TestViewerThatJumpsTooOften(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{GOPBytes: 200 << 10, Backlog: time.Nanosecond, Ahead: time.Hour}})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{Jumps: 2, JumpTime: time.Hour, Stall: time.Hour})
	s, c := pair(t)
	s.SetWriteBuffer(32 << 10)
	v := add(t, w, s, p.Stream(), ViewerOptions{})
	b := make([]byte, 300<<10)
	for i := 0; ; i++ {
		send(t, p, video(uint32(i)*40, true, 50<<10))
		select {
		case <-v.Done():
			if !errors.Is(v.Err(), ErrSlow) {
				t.Fatalf("closed for %v", v.Err())
			}
			if n := p.Stream().Stats().Evicted; n != 1 {
				t.Errorf("%d evicted", n)
			}
			return
		default:
		}
		if i%40 == 39 {
			// It takes something, but not enough.
			if _, err := c.Read(b); err != nil {
				waitFor(t, v.Done(), "end of the viewer")
			}
		}
		if i == 100000 {
			t.Fatal("a viewer that stays behind is never closed")
		}
	}
}

func TestViewerThatStalls(t *testing.T) {
	for _, name := range []string{"plain", "tls", "wire"} {
		t.Run(name, func(t *testing.T) {
			h := NewHub(HubOptions{})
			defer h.Close()
			p := mustPublish(t, h, "s", PublishOptions{})
			w := newWriter(t, WriterOptions{Stall: 300 * time.Millisecond})
			s, c := pair(t)
			closed := make(chan error, 1)
			o := ViewerOptions{FromStart: true, OnClose: func(_ *Viewer, err error) { closed <- err }}
			var conn net.Conn = s
			switch name {
			case "tls":
				conn, _ = tlsPair(t, s, c)
			case "wire":
				conn, _ = wirePair(t, s, c)
			}
			v := add(t, w, conn, p.Stream(), o)
			for i := range 100 {
				send(t, p, video(uint32(i), i == 0, 100<<10))
			}
			waitFor(t, v.Done(), "end of the viewer that stalls")
			if err := <-closed; !errors.Is(err, ErrStalled) {
				t.Fatalf("closed for %v", err)
			}
			if n := p.Stream().Stats().Evicted; n != 1 {
				t.Errorf("%d evicted", n)
			}
		})
	}
}

// A publisher that is much faster than real time makes no viewer lose frames,
// whether its frames are long or many.
func TestFastPublisherWaits(t *testing.T) {
	t.Run("long frames", func(t *testing.T) {
		fastPublisher(t, StreamOptions{GOPBytes: 2 << 20, Ahead: 100 * time.Millisecond}, 600, 20<<10)
	})
	t.Run("many frames", func(t *testing.T) {
		fastPublisher(t, StreamOptions{GOPFrames: 100, Ahead: 100 * time.Millisecond}, 5000, 100)
	})
}

func fastPublisher(t *testing.T, o StreamOptions, frames, size int) {
	h := NewHub(HubOptions{Stream: o})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{Loops: 2, Merge: 5 * time.Millisecond, Lag: 2 * time.Second})
	const viewers = 8
	ends := make(chan []tag, viewers)
	var all []*Viewer
	for range viewers {
		s, c := pair(t)
		all = append(all, add(t, w, s, p.Stream(), ViewerOptions{FromStart: true, Merge: -1}))
		go func() {
			b, err := io.ReadAll(c)
			if err != nil {
				t.Error(err)
			}
			ends <- fileOf(t, b)
		}()
	}
	// So far ahead that it is too fast also when the machine stands still for seconds: what
	// real time had caught up with could be left out.
	apart := uint32((50 * time.Minute).Milliseconds()) / uint32(frames)
	for i := range frames {
		send(t, p, video(uint32(i)*apart, i%50 == 0, size))
	}
	p.Close()
	for range viewers {
		if tags := <-ends; len(tags) != frames {
			t.Errorf("a viewer got %d of %d frames", len(tags), frames)
		}
	}
	for _, v := range all {
		waitFor(t, v.Done(), "end of a viewer")
		if st := v.Stats(); st.Jumps > 0 || v.Err() != ErrEnded {
			t.Errorf("%v: %+v", v.Err(), st)
		}
	}
}

// One viewer that takes nothing does not hold a fast publisher up for long.
func TestFastPublisherDoesNotWaitForTheStalled(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{GOPBytes: 1 << 20, Ahead: 10 * time.Millisecond}})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{Jumps: 1 << 20})
	s, _ := pair(t)
	add(t, w, s, p.Stream(), ViewerOptions{FromStart: true})
	from := time.Now()
	for i := range 3000 {
		send(t, p, tag{flv.TagVideo, uint32(i), video(uint32(i), i%50 == 0, 10<<10).body})
	}
	if d := time.Since(from); d > eventTimeout {
		t.Errorf("it took %v", d)
	}
	p.Close()
}

// A viewer that is evicted leaves nothing behind in the kernel: its connection
// is reset.
func TestEvictedViewersAreReset(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{Stall: 200 * time.Millisecond})
	s, c := pair(t)
	v := add(t, w, s, p.Stream(), ViewerOptions{FromStart: true})
	for i := range 50 {
		send(t, p, video(uint32(i), i == 0, 200<<10))
	}
	waitFor(t, v.Done(), "end of the viewer")
	if !errors.Is(v.Err(), ErrStalled) {
		t.Fatalf("closed for %v", v.Err())
	}
	if _, err := io.Copy(io.Discard, c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("its connection ended with %v", err)
	}
}
