package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

func TestOnePublisher(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{Grace: time.Hour}})
	a := mustPublish(t, h, "s", PublishOptions{Name: "a"})
	if _, err := h.Publish("s", PublishOptions{Name: "b"}); !errors.Is(err, ErrBusy) {
		t.Fatalf("a second publisher: %v", err)
	}
	send(t, a, video(0, true, 10))
	b := mustPublish(t, h, "s", PublishOptions{Name: "b", TakeOver: true})
	waitFor(t, a.Done(), "end of the first publisher")
	if !errors.Is(a.Err(), ErrTakenOver) {
		t.Errorf("the first ended with %v", a.Err())
	}
	if err := a.Publish(video(1, true, 10).frame()); !errors.Is(err, ErrTakenOver) {
		t.Errorf("the first publishes on: %v", err)
	}
	a.Close()
	send(t, b, video(0, true, 10))
	if st := b.Stream().Stats(); st.FramesIn != 2 || st.Publisher != "b" || b.Stream() != a.Stream() {
		t.Errorf("%+v", st)
	}
	h.Close()
	if err := b.Publish(video(1, true, 10).frame()); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := h.Publish("t", PublishOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Publish after Close: %v", err)
	}
}

func TestGrace(t *testing.T) {
	alloc := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, alloc)
	h := NewHub(HubOptions{Stream: StreamOptions{Grace: time.Hour, Allocator: alloc}})
	w := newWriter(t, WriterOptions{})
	p := mustPublish(t, h, "s", PublishOptions{})
	s := p.Stream()
	conn, c := pair(t)
	v := add(t, w, conn, s, ViewerOptions{FromStart: true})
	send(t, p, videoConfig(0, 1), video(0, true, 10), video(40, false, 10))
	p.Close()
	if s.Publisher() != nil {
		t.Error("there is a publisher still")
	}
	p = mustPublish(t, h, "s", PublishOptions{})
	if p.Stream() != s {
		t.Fatal("another stream within the grace period")
	}
	send(t, p, videoConfig(0, 2), video(0, true, 11), video(40, false, 11))
	h.Close()
	waitFor(t, s.Done(), "end of the stream")
	got := fileTags(t, c)
	equalTags(t, got, []tag{
		videoConfig(0, 1), video(0, true, 10), video(40, false, 10),
		{9, 40, videoConfig(0, 2).body}, {9, 80, video(0, true, 11).body}, {9, 120, video(40, false, 11).body},
	})
	waitFor(t, v.Done(), "end of the viewer")
	w.Close()
	if len(h.Streams()) != 0 {
		t.Error("a stream that is over is still there")
	}
}

func TestGracePasses(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{Grace: time.Millisecond}})
	p := mustPublish(t, h, "s", PublishOptions{})
	p.Close()
	waitFor(t, p.Stream().Done(), "end of the stream")
	for range 100 {
		p := mustPublish(t, h, "s", PublishOptions{})
		p.Close()
	}
	h.Close()
}

func TestWait(t *testing.T) {
	h := NewHub(HubOptions{})
	ctx, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("enough")
	got := make(chan error)
	for range 3 {
		go func() {
			_, err := h.Wait(ctx, "never")
			got <- err
		}()
	}
	cancel(reason)
	for range 3 {
		if err := <-got; !errors.Is(err, reason) {
			t.Errorf("Wait: %v", err)
		}
	}
	h.mu.Lock()
	if n := len(h.waiting); n != 0 {
		t.Errorf("%d names are waited for by nobody", n)
	}
	h.mu.Unlock()
	for range 3 {
		go func() {
			s, err := h.Wait(context.Background(), "s")
			if err == nil && s.Name() != "s" {
				err = fmt.Errorf("stream %q", s.Name())
			}
			got <- err
		}()
	}
	p := mustPublish(t, h, "s", PublishOptions{})
	for range 3 {
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	p.Close()
	go func() {
		_, err := h.Wait(context.Background(), "s")
		got <- err
	}()
	h.Close()
	if err := <-got; !errors.Is(err, ErrClosed) {
		t.Errorf("Wait after Close: %v", err)
	}
}

// A stream that is over keeps its ring for those that have waited for it, but not when the hub is
// closed.
func TestCloseKeepsNothingForWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alloc := mem.New(mem.Options{Name: t.Name()})
		sluicetest.NoLeaks(t, alloc)
		h := NewHub(HubOptions{Stream: StreamOptions{Allocator: alloc}})
		came := make(chan error, 1)
		go func() {
			_, err := h.Wait(t.Context(), "s") // and adds no viewer
			came <- err
		}()
		synctest.Wait()
		p := mustPublish(t, h, "s", PublishOptions{})
		if err := <-came; err != nil {
			t.Fatal(err)
		}
		send(t, p, video(0, true, 1000))
		p.Close()
		if alloc.Stats().CheckedOut == 0 {
			t.Error("the ring is not kept for the one that has waited")
		}
		h.Close()
	})
}

func TestBadFrames(t *testing.T) {
	alloc := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, alloc)
	h := NewHub(HubOptions{Stream: StreamOptions{MaxFrame: 100}})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	if err := p.Publish(Frame{Type: 9, Payload: alloc.Get(101)}); !errors.Is(err, ErrFrame) {
		t.Errorf("a frame that is too long: %v", err)
	}
	if err := p.Publish(Frame{Type: 7, Payload: alloc.Get(1)}); !errors.Is(err, ErrFrame) {
		t.Errorf("a frame of an unknown type: %v", err)
	}
	if st := p.Stream().Stats(); st.FramesIn != 0 {
		t.Errorf("%+v", st)
	}
}

// Publishers and viewers who come and go at once, for the race detector.
func TestComingAndGoing(t *testing.T) {
	alloc := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, alloc)
	h := NewHub(HubOptions{Stream: StreamOptions{Allocator: alloc, Grace: time.Millisecond}})
	w := NewWriter(WriterOptions{Loops: 2})
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	var publishers, viewers sync.WaitGroup
	for i := range 2 {
		publishers.Add(1)
		go func() {
			defer publishers.Done()
			for j := range 30 {
				p, err := h.Publish(fmt.Sprint("s", j%2), PublishOptions{TakeOver: (i+j)%3 == 0})
				if err != nil {
					continue
				}
				for k := range 50 {
					if p.Publish(video(uint32(k)*10, k%10 == 0, 1000).frame()) != nil {
						break
					}
				}
				p.Close()
			}
		}()
	}
	for i := range 6 {
		viewers.Add(1)
		go func() {
			defer viewers.Done()
			for range 10 {
				s, err := h.Wait(ctx, fmt.Sprint("s", i%2))
				if err != nil {
					return
				}
				conn, c := pair(t)
				v, err := w.Add(conn, s, ViewerOptions{Form: Form(i % 3), FromStart: true, Merge: time.Duration(i%2) * time.Millisecond})
				if err != nil {
					continue
				}
				io.CopyN(io.Discard, c, int64(i)*5000)
				v.Pause(i%2 == 0)
				v.Control([]byte("x"))
				if i%3 == 0 {
					v.Close(nil)
				} else {
					c.Close()
				}
				w.Viewers()
				v.Stats()
			}
		}()
	}
	publishers.Wait()
	h.Close()
	viewers.Wait()
	w.Close()
}

// A caller that waited for a stream gets all of it, also when the stream is over
// before the viewer is added.
func TestWaitForAStreamThatIsSoonOver(t *testing.T) {
	alloc := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, alloc)
	tags := clipTags(t)
	h := NewHub(HubOptions{Stream: StreamOptions{Allocator: alloc}})
	w := newWriter(t, WriterOptions{})
	const waiters = 3
	var ready sync.WaitGroup
	over := make(chan struct{})
	results := make(chan []tag)
	for range waiters {
		ready.Add(1)
		conn, c := pair(t)
		go func() {
			ready.Done()
			s, err := h.Wait(context.Background(), "s")
			if err != nil {
				t.Error(err)
			}
			<-over
			if _, err := w.Add(conn, s, ViewerOptions{FromStart: true}); err != nil {
				t.Error(err)
				conn.Close()
			}
			results <- fileTags(t, c)
		}()
	}
	ready.Wait()
	for waiting := 0; waiting < waiters; runtime.Gosched() {
		h.mu.Lock()
		if e := h.waiting["s"]; e != nil {
			waiting = e.waiters
		}
		h.mu.Unlock()
	}
	p := mustPublish(t, h, "s", PublishOptions{})
	send(t, p, tags...)
	p.Close()
	waitFor(t, p.Stream().Done(), "end of the stream")
	close(over)
	for range waiters {
		equalTags(t, <-results, tags)
	}
	h.Close()
	w.Close()
}

// A stream begins with the options that Adjust makes for its name, and others with those
// of the hub.
func TestAdjustIsForOneStream(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{Grace: time.Hour}, Adjust: func(name string, o *StreamOptions) {
		if name == "a" {
			o.Grace = 0
		}
	}})
	defer h.Close()
	for _, name := range []string{"a", "b"} {
		p, err := h.Publish(name, PublishOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		if _, there := h.Stream(name); there != (name == "b") {
			t.Errorf("%s: there is %v after its publisher", name, there)
		}
	}
}
