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
	for _, c := range []struct {
		used, own int64 // MiB
		full      bool
	}{
		{100, 80, false},
		{110, 80, true},  // they will grow
		{110, 20, false}, // another process has the rest
		{122, 20, true},
	} {
		used := c.used << 20
		k := crowded(t, &used)
		k.pressure.own = func() int64 { return c.own << 20 }
		for _, err := range []error{k.RoomToWatch(), k.Admit()} {
			if c.full != errors.Is(err, session.ErrFull) || c.full && !strings.Contains(err.Error(), "most of the 134217728 bytes") {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
}

// What is in use is looked at again, by those who ask.
func TestThereIsRoomAgain(t *testing.T) {
	used := int64(124 << 20)
	k := crowded(t, &used)
	if k.RoomToWatch() == nil {
		t.Error("124 of 128 MiB are in use")
	}
	used = 90 << 20
	k.pressure.looked = time.Time{} // the next one is due
	if err := errors.Join(k.RoomToWatch(), k.Admit()); err != nil {
		t.Errorf("90 are: %v", err)
	}
}

// Before the kernel ends the process, sessions are ended, as few as do.
func TestSessionsAreEndedBeforeTheProcessIs(t *testing.T) {
	for _, c := range []struct {
		used, own int64 // MiB
		streams   bool
		ended     bool
	}{{118, 100, false, false}, {122, 100, false, true}, {122, 100, true, true}, {126, 30, false, false}} {
		used, ended, looks := c.used<<20, false, 0
		k := crowded(t, &used)
		k.pressure.group.Used = func() (int64, int64) { looks++; return used, 0 }
		k.pressure.own = func() int64 { return c.own << 20 }
		k.options.Shed = func(streams bool) (int, int) {
			ended = true
			if streams != c.streams {
				t.Errorf("%+v: the streams are to blame is %v", c, streams)
			}
			return 1, 0
		}
		if c.streams {
			b := k.options.Alloc.Get(int(k.options.Most))
			defer b.Release()
		}
		if k.shed(); ended != c.ended {
			t.Errorf("%+v: ended is %v", c, ended)
		}
		if !c.ended && looks != 1 {
			t.Errorf("%+v: garbage is collected for nothing", c)
		}
	}
}

// What is free once garbage has been collected ends no session, and keeps no successor away.
func TestGarbageIsCollectedBeforeSessionsAreEnded(t *testing.T) {
	for name, try := range map[string]func(*Keeper) error{
		"a successor": (*Keeper).RoomForSuccessor,
		"sessions":    func(k *Keeper) error { k.shed(); return nil },
	} {
		used := int64(122 << 20)
		k := crowded(t, &used)
		k.pressure.own = func() int64 { return 70 << 20 }
		k.pressure.group.Used = func() (int64, int64) {
			now := used
			used = 20 << 20 // at the next look
			return now, 0
		}
		k.options.Shed = func(bool) (int, int) { t.Error("sessions are ended"); return 0, 0 }
		if err := try(k); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		used, k.pressure.looked = 126<<20, time.Time{}
		if !k.Tight() {
			t.Errorf("%s: what is in use is not looked at again", name)
		}
	}
}

// Who is refused at nine tenths is taken again at eight, not at once, so that the log does not fill.
func TestThereIsRoomBelowEightTenths(t *testing.T) {
	used := int64(0)
	k := crowded(t, &used)
	for _, c := range []struct {
		counted, heap int64 // MiB, of 64 and 96
		full, crowded bool
	}{
		{57, 86, false, false}, {58, 87, true, true}, {52, 77, true, true}, {51, 76, false, false}, {52, 77, false, false},
	} {
		if k.judge(c.counted<<20, c.heap<<20); k.full.Load() != c.full || k.crowded.Load() != c.crowded {
			t.Errorf("%+v: full is %v, crowded %v", c, k.full.Load(), k.crowded.Load())
		}
	}
}

// In a group that is nearly full viewers give back what sockets hold above three quarters, and those that
// take nothing are relieved of their places.
func TestSocketsOfAFullGroup(t *testing.T) {
	for _, c := range []struct{ used, sockets, excess int64 }{{60, 40, 0}, {120, 40, 24}, {120, 7, 7}} { // MiB, of 128
		used, relieved := c.used<<20, 0
		k := crowded(t, &used)
		k.pressure.own = func() int64 { return 40 << 20 }
		k.pressure.group.Used = func() (int64, int64) { return used, c.sockets << 20 }
		k.options.Unread, k.options.Relieve = func(int64) int64 { return 0 }, func(time.Time) { relieved++ }
		if got := k.pressure.excess(); got != c.excess<<20 {
			t.Errorf("%+v: %d bytes", c, got)
		}
		if k.step(time.Now()); (relieved == 1) != (c.excess > 0) {
			t.Errorf("%+v: relieved %d times", c, relieved)
		}
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

// The process that takes over needs as much for the sessions.
func TestRoomForASuccessor(t *testing.T) {
	for _, c := range []struct {
		used, own int64 // MiB
		room      bool
	}{{60, 50, true}, {100, 50, false}, {100, 20, true}} {
		used := c.used << 20
		k := crowded(t, &used)
		k.pressure.own = func() int64 { return c.own << 20 }
		if err := k.RoomForSuccessor(); (err == nil) != c.room {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
