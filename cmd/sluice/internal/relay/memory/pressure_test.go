package memory

import (
	"errors"
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// crowded is a keeper in a control group of 128 MiB of which so many bytes are in use.
func crowded(t *testing.T, used *int64) *Keeper {
	t.Helper()
	hub, writer := live.NewHub(live.HubOptions{}), live.NewWriter(live.WriterOptions{})
	t.Cleanup(func() {
		hub.Close()
		writer.Close()
	})
	return New(Options{
		Most: 64 << 20, Machine: 128 << 20, Group: Group{128 << 20, func() (int64, int64) { return *used, 0 }},
		Alloc: mem.New(mem.Options{Name: "crowded"}), Hubs: []*live.Hub{hub}, Writer: writer, Relieve: func(time.Time) {}, Logger: slog.New(slog.DiscardHandler),
	})
}

// The kernel ends a process whose group is full, whatever took the memory.
func TestNoSessionBeginsInAFullControlGroup(t *testing.T) {
	used := int64(100 << 20)
	k := crowded(t, &used)
	look := func() { k.pressure.looked = time.Time{} } // the next one is due
	if err := errors.Join(k.RoomToWatch(), k.Admit()); err != nil {
		t.Errorf("with 100 of 128 MiB in use: %v", err)
	}
	used = 120 << 20
	look()
	for _, err := range []error{k.RoomToWatch(), k.Admit()} {
		if !errors.Is(err, session.ErrFull) || !strings.Contains(err.Error(), "most of the 134217728 bytes") {
			t.Errorf("with 120 of 128 MiB in use: %v", err)
		}
	}
	used = 90 << 20
	look()
	if err := errors.Join(k.RoomToWatch(), k.Admit()); err != nil {
		t.Errorf("there is room again: %v", err)
	}
}

// A heap of many sessions keeps viewers away, too; what streams take keeps publishers away only.
func TestWhoIsRefusedForWhat(t *testing.T) {
	used := int64(50 << 20)
	for _, c := range []struct {
		counted, heap   int64 // MiB
		publish, viewer bool  // there is room
	}{
		{10, 10, true, true},
		{60, 10, false, true},
		{10, 90, false, false},
	} {
		k := crowded(t, &used)
		k.judge(c.counted<<20, c.heap<<20)
		k.total.Store(c.counted << 20)
		publish, viewer := k.Admit(), k.RoomToWatch()
		if (publish == nil) != c.publish || (viewer == nil) != c.viewer {
			t.Errorf("%+v: %v; %v", c, publish, viewer)
		}
		if got := publish != nil && strings.Contains(publish.Error(), "max-memory"); got != (c.heap < 50 && !c.publish) {
			t.Errorf("%+v: the reason is %v", c, publish)
		}
	}
}

// What the kernel has is left out of what the collector may have.
func TestTheCollectorLeavesRoomForTheKernel(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	used := int64(0)
	k := crowded(t, &used)
	k.pressure.most = k.options.collectorLimit()
	limit := func(others int64) int64 {
		used = mapped() + others
		k.pressure.look()
		return debug.SetMemoryLimit(-1)
	}
	near := func(got, want int64) bool { return math.Abs(float64(got-want)) < 4<<20 }
	for _, c := range []struct{ others, want int64 }{{0, 96}, {40, 56}, {500, 48}, {0, 96}} {
		if got := limit(c.others << 20); !near(got, c.want<<20) {
			t.Errorf("%d MiB of others: a limit of %d bytes, want %d MiB", c.others, got, c.want)
		}
	}
}
