package live

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

func TestReader(t *testing.T) {
	alloc := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, alloc)
	tags := clipTags(t)
	h := NewHub(HubOptions{Stream: StreamOptions{Allocator: alloc}})
	p := mustPublish(t, h, "s", PublishOptions{})
	r, err := p.Stream().NewReader(ReaderOptions{FromStart: true, Bytes: 10000})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("Next of nothing: %v", err)
	}
	go func() {
		for _, g := range tags {
			if p.Publish(g.frame()) != nil {
				break
			}
		}
		p.Close()
	}()
	var all []byte
	for {
		b, dropped, err := r.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil || dropped > 0 {
			t.Fatalf("%d dropped, %v", dropped, err)
		}
		all = append(all, b...)
	}
	equalTags(t, fileOf(t, all), tags)
	r.Close()
	r.Close()
	if _, err := p.Stream().NewReader(ReaderOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a reader of what is over: %v", err)
	}
}

func TestReaderThatFallsBehind(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{GOPFrames: 20, Backlog: time.Nanosecond}})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	r, err := p.Stream().NewReader(ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	send(t, p, video(0, true, 10))
	b, _, err := r.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := fileOf(t, b)
	for i := 1; i < 100; i++ {
		send(t, p, video(uint32(i), i%10 == 0, 10))
	}
	b, dropped, err := r.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	more, rest := readTags(b)
	if dropped != 89 || len(got) != 1 || len(rest) > 0 || len(more) != 10 || !more[0].equal(video(90, true, 10)) {
		t.Errorf("%d dropped, %d tags before, %d after", dropped, len(got), len(more))
	}
}

// awaits waits until r waits for its stream.
func awaits(t *testing.T, r *Reader) {
	t.Helper()
	for until := time.Now().Add(eventTimeout); !waiting(r); {
		if time.Now().After(until) {
			t.Fatal("the reader does not wait")
		}
		runtime.Gosched()
	}
}

func waiting(r *Reader) bool {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return slices.Contains(r.s.waiting, waiter(r))
}

// What a reader that gathers is not given yet does not wake it: what it has waited for does.
func TestReaderGathers(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{Backlog: 100 * time.Hour}})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	r, err := p.Stream().NewReader(ReaderOptions{Gather: time.Hour, Bytes: 2 * gatherBytes})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type read struct {
		tags []tag
		err  error
	}
	next := func() <-chan read {
		c := make(chan read, 1)
		go func() {
			b, _, err := r.Next(ctx)
			tags, _ := readTags(b)
			c <- read{tags, err}
		}()
		return c
	}
	send(t, p, video(0, true, 10))
	if b, _, err := r.Next(ctx); err != nil || len(fileOf(t, b)) != 1 {
		t.Fatalf("the first frame: %d bytes, %v", len(b), err)
	}
	for i, c := range []struct {
		name   string
		frames int
		do     func()
		err    error
	}{
		{"many bytes", 4, func() { send(t, p, video(2, false, gatherBytes)) }, nil},
		{"very many frames", gatherFrames, nil, nil},
		{"the context's end", 3, cancel, nil},
		{"nothing more after that", 0, nil, context.Canceled},
		{"the stream's end", 3, p.Close, nil},
		{"nothing more", 0, nil, io.EOF},
	} {
		got := (<-chan read)(nil)
		if i < 3 {
			got = next()
			awaits(t, r)
		}
		for range c.frames {
			if i < 3 && !waiting(r) {
				t.Errorf("%s: woken before", c.name)
			}
			send(t, p, video(1, false, 10))
		}
		if c.do != nil {
			c.do()
		}
		if got == nil {
			got = next()
		}
		want := c.frames
		if i == 0 {
			want++
		}
		if x := <-got; len(x.tags) != want || !errors.Is(x.err, c.err) {
			t.Errorf("%s: %d tags of %d, %v", c.name, len(x.tags), want, x.err)
		}
	}
}

// What was gathered comes in pieces, without a wait between them.
func TestReaderGathersInPieces(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	const most = 10_000
	r, err := p.Stream().NewReader(ReaderOptions{Gather: time.Hour, Bytes: most})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	send(t, p, video(0, true, 10))
	if _, _, err := r.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range gatherFrames {
		send(t, p, video(1, false, 1000))
	}
	for n, pieces := 0, 0; n < gatherFrames; pieces++ {
		b, dropped, err := r.Next(t.Context())
		tags, _ := readTags(b)
		if n += len(tags); err != nil || dropped > 0 || len(b) > most+2000 || len(tags) == 0 {
			t.Fatalf("piece %d: %d bytes, %d dropped, %v", pieces, len(b), dropped, err)
		}
	}
	send(t, p, video(1, false, 1000))
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if b, _, err := r.Next(done); err != nil || len(b) == 0 {
		t.Errorf("%d bytes and %v when it is over", len(b), err)
	}
}

// A frame ends the time for which a reader gathers, or after a while its timer does.
func TestReaderGathersForATime(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	const gather = 20 * time.Millisecond
	r, err := p.Stream().NewReader(ReaderOptions{Gather: gather})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	began := time.Now()
	send(t, p, video(0, true, 10))
	if _, _, err := r.Next(context.Background()); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				send(t, p, video(1, false, 10))
			}
		}
	})
	_, _, err = r.Next(context.Background())
	took := time.Since(began)
	close(over)
	sending.Wait()
	if err != nil || took < gather {
		t.Errorf("after %v: %v", took, err)
	}
	send(t, p, video(2, false, 10))
	if b, _, err := r.Next(context.Background()); err != nil || len(b) == 0 {
		t.Errorf("%d bytes of frames that none follows: %v", len(b), err)
	}
}

// A stream that pauses, of sound alone, is trimmed by and by: a reader that gathers has what
// came before that.
func TestReaderThatGathersLosesNothingInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const backlog = 3 * time.Second
		h := NewHub(HubOptions{Stream: StreamOptions{Backlog: backlog}})
		defer h.Close()
		p := mustPublish(t, h, "s", PublishOptions{})
		r, err := p.Stream().NewReader(ReaderOptions{FromStart: true, Gather: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got := make(chan int, 100)
		go func() {
			defer close(got)
			for {
				b, dropped, err := r.Next(context.Background())
				if err != nil {
					return
				}
				if dropped > 0 {
					t.Errorf("%d frames are lost", dropped)
				}
				if string(b[:3]) == "FLV" {
					b = b[flv.HeaderLen+flv.PrevTagSizeLen:]
				}
				tags, _ := readTags(b)
				got <- len(tags)
			}
		}()
		const frames = 100
		for i := range frames {
			send(t, p, audio(uint32(20*i), 10))
			<-time.After(20 * time.Millisecond)
		}
		<-time.After(2 * backlog)
		h.Trim()
		p.Close()
		n := 0
		for some := range got {
			n += some
		}
		if n < frames {
			t.Errorf("%d frames of %d", n, frames)
		}
	})
}

// Frames that none follows are returned soon after the time for which a reader gathers, also
// where the stream keeps frames for a shorter time than that.
func TestReaderThatGathersReturnsTheLastFrames(t *testing.T) {
	for backlog, within := range map[time.Duration]time.Duration{time.Minute: 1500 * time.Millisecond, time.Second: 750 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			h := NewHub(HubOptions{Stream: StreamOptions{Backlog: backlog}})
			defer h.Close()
			p := mustPublish(t, h, "s", PublishOptions{})
			r, err := p.Stream().NewReader(ReaderOptions{Gather: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for i := range 3 {
				send(t, p, video(uint32(i), i == 0, 10))
				began := time.Now()
				if b, _, err := r.Next(t.Context()); err != nil || len(b) == 0 {
					t.Fatalf("%d bytes, %v", len(b), err)
				}
				if took := time.Since(began); i == 0 && took > 0 || took > within {
					t.Errorf("a backlog of %v: frame %d after %v", backlog, i, took)
				}
			}
		})
	}
}
