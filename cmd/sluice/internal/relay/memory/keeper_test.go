package memory

import (
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// What lies unread in the kernel counts: new publishers are refused for it, until
// it has been read.
func TestReceiveQueuesCount(t *testing.T) {
	unread := int64(0)
	hub, writer := live.NewHub(live.HubOptions{}), live.NewWriter(live.WriterOptions{})
	defer hub.Close()
	defer writer.Close()
	k := New(Options{Most: 64 << 20, Alloc: mem.Default(), Hubs: []*live.Hub{hub}, Writer: writer, Unread: func(int64) int64 { return unread }, Relieve: func(time.Time) {}, Logger: slog.New(slog.DiscardHandler)})
	now := time.Now()
	step := func() {
		now = now.Add(unreadEvery)
		k.step(now)
	}
	if step(); k.Admit() != nil {
		t.Errorf("an idle server: %v", k.Admit())
	}
	unread = 30 << 20 // the kernel uses up to twice as much for it
	if step(); !errors.Is(k.Admit(), session.ErrFull) {
		t.Errorf("60 MiB of 64 are used: %v", k.Admit())
	}
	unread = 1 << 20
	if step(); k.Admit() != nil {
		t.Errorf("it was read: %v", k.Admit())
	}
}

// Publishers that come all at once have little in their rings yet, and would all be let in.
func TestACrowdOfPublishersIsBounded(t *testing.T) {
	hub, writer := live.NewHub(live.HubOptions{Memory: RingShare(64 << 20)}), live.NewWriter(live.WriterOptions{})
	defer hub.Close()
	defer writer.Close()
	k := New(Options{Most: 64 << 20, Alloc: mem.New(mem.Options{Name: "crowd"}), Hubs: []*live.Hub{hub}, Writer: writer, Unread: func(int64) int64 { return 0 }, Relieve: func(time.Time) {}, Logger: slog.New(slog.DiscardHandler)})
	come := func() (n int) {
		for k.Admit() == nil && n < 1000 {
			if _, err := hub.Publish(strconv.Itoa(hub.Rings()), live.PublishOptions{}); err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	now := time.Now()
	step := func(n int) {
		for range n {
			now = now.Add(every)
			k.step(now)
		}
	}
	step(1)
	first := come()
	if first < 200 || first > 64<<20/perRing {
		t.Errorf("%d publishers at once with 64 MiB", first)
	}
	if !errors.Is(k.Admit(), session.ErrFull) {
		t.Errorf("one more: %v", k.Admit())
	}
	step(int(youngFor/every) - 1)
	if n := come(); n != 0 {
		t.Errorf("%d more while the first are young", n)
	}
	// They are known to need next to nothing.
	step(2)
	if n := come(); n < first/2 {
		t.Errorf("%d more when the first have settled", n)
	}
}

// Rings that another process has handed over are not young.
func TestRingsThatWereHandedOverAreFull(t *testing.T) {
	var y young
	y.begin(1000)
	if got := y.reserved(1001); got != 2*perRing {
		t.Errorf("%d bytes are kept free for one that is young and one that comes", got)
	}
	if got := y.reserved(10); got != perRing {
		t.Errorf("%d bytes when most have ended", got)
	}
}
