package edge

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// An origin that could not be reached is asked last, for ten seconds or until it is reached.
func TestOriginsThatWereAwayAreAskedLast(t *testing.T) {
	var all []*Origin
	for _, name := range []string{"a", "b", "c"} {
		o, err := ParseOrigin("rtmp://" + name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	a, b, c := all[0], all[1], all[2]
	var h health
	now := time.Now()
	h.note(a, false, now)
	h.note(b, true, now)
	for _, x := range []struct {
		after time.Duration
		want  []*Origin
	}{{0, []*Origin{b, c, a}}, {unreachable - 1, []*Origin{b, c, a}}, {unreachable, all}} {
		if got := h.order(all, now.Add(x.after)); !slices.Equal(got, x.want) {
			t.Errorf("after %v: %v", x.after, got)
		}
	}
	if h.note(b, false, now.Add(unreachable)); len(h.failed) != 1 {
		t.Errorf("it remembers %v", h.failed)
	}
	if h.note(b, true, now.Add(unreachable)); !slices.Equal(h.order(all, now.Add(unreachable)), all) {
		t.Error("an origin that was reached comes last")
	}
}

// When as many refusals are remembered as may be, those that have ended make room, and others do not.
func TestRefusalsMakeRoomWhenTheyHaveEnded(t *testing.T) {
	p := newPuller(t, "rtmp://a", &local{}, func(o *Options) { o.Refuse = time.Hour })
	over := func(stream string) bool {
		p.over(&pulling{puller: p, stream: stream, asks: Path{"x"}}, errors.New("no"))
		_, ok := p.refused[stream]
		return ok
	}
	for i := range maxRefusals {
		if !over(fmt.Sprint("live/", i)) {
			t.Fatalf("refusal %d is not remembered", i)
		}
	}
	if over("live/more") || len(p.refused) != maxRefusals {
		t.Errorf("%d refusals are remembered", len(p.refused))
	}
	ended := p.refused["live/0"]
	ended.until = time.Now()
	p.refused["live/0"] = ended
	if !over("live/more") || len(p.refused) != maxRefusals {
		t.Errorf("of %d refusals one has ended", len(p.refused))
	}
}
