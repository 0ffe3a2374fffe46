package feed

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice/live"
)

// A feed is made once for its users, ends with the last of them or with its source, and is
// made anew after that.
func TestFeedsAreShared(t *testing.T) {
	hub := live.NewHub(live.HubOptions{})
	defer hub.Close()
	p, err := hub.Publish("live/s", live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var full error
	x := New[string, int](live.HubOptions{}, func() error { return full })
	made, ended := 0, make(chan int, 10)
	maker := Maker[string, int]{
		Protocol: "test",
		Begin:    func(*Feed[string, int]) int { made++; return made },
		Run: func(ctx context.Context, v int, from *live.Reader, _ *live.Publisher) error {
			from.Next(ctx)
			ended <- v
			return nil
		},
	}
	open := func(key string) *Feed[string, int] {
		t.Helper()
		f, err := x.Open(key, p.Stream(), maker)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	wait := func(want int) {
		t.Helper()
		select {
		case v := <-ended:
			if v != want {
				t.Errorf("feed %d has ended, want %d", v, want)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("feed %d does not end", want)
		}
	}
	first, again := open("a"), open("a")
	if first != again || x.Use("a") != first || made != 1 || x.Use("b") != nil {
		t.Error("a feed is not shared")
	}
	full = errors.New("full")
	if _, err := x.Open("b", p.Stream(), maker); err != full {
		t.Errorf("another feed without memory for it: %v", err)
	}
	open("a").Release()
	full = nil
	for range 3 {
		first.Release()
	}
	wait(1)
	if f := open("a"); f == first || f.Value != 2 || f.Stream() == first.Stream() {
		t.Error("a feed that has ended is used")
	}
	x.Close()
	wait(2)
	if _, err := x.Open("a", p.Stream(), maker); !errors.Is(err, live.ErrClosed) {
		t.Errorf("opened after Close: %v", err)
	}
}
