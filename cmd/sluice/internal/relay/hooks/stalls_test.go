package hooks

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// A publisher that sends nothing has stalled once, however long that takes, and
// has resumed when it sends again; a viewer that was too slow was evicted.
func TestStallsAndEvictions(t *testing.T) {
	r := newReceiver(t)
	r.listen()
	e := reporting(t, r, t.TempDir())
	books := session.NewRegister(slog.New(slog.DiscardHandler))
	books.Observe(Reporter{e})
	p := books.Begin(session.RolePublisher, session.Info{Stream: "live/s"})
	v := books.Begin(session.RoleViewer, session.Info{Stream: "live/s"})
	w := stalls{report: Reporter{e}, after: 3 * time.Second, list: map[*session.Client]*silence{}}
	now := time.Now()
	look := func(after time.Duration) {
		now = now.Add(after)
		w.look(now, books.AppendRole(nil, session.RolePublisher))
	}
	for range 10 { // steady
		p.Count(100)
		look(2 * time.Second)
	}
	for range 4 {
		look(2 * time.Second)
	}
	p.Count(100)
	look(time.Second)
	v.End(live.ErrStalled)
	p.End(nil)
	look(10 * time.Second) // nothing of who has left
	ended(t, e)
	var got []string
	for _, v := range r.events() {
		text := v.Event
		if v.DurationMS != nil && v.Event == Resumed {
			text += fmt.Sprint(" ", *v.DurationMS)
		}
		got = append(got, text+" "+v.Session+v.Code)
	}
	want := []string{"publish_begin p1", "play_begin v1", "stalled p1", "resumed 9000 p1", "evicted v1stalled", "play_end v1stalled", "publish_end p1done"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
