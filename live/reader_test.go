package live

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

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
