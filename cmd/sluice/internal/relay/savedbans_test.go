package relay

import (
	"context"
	"log/slog"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

// When the clock of the machine was set, a server that is killed leaves bans that hold as long
// as they were meant to.
func TestBansOfAKilledServerWhoseClockWasSet(t *testing.T) {
	var mu sync.Mutex
	wall, passed := time.Unix(1_700_000_000, 0), time.Duration(0)
	clock := access.Options{
		Now:     func() time.Time { mu.Lock(); defer mu.Unlock(); return wall },
		Elapsed: func() time.Duration { mu.Lock(); defer mu.Unlock(); return passed },
	}
	file := filepath.Join(t.TempDir(), "bans.json")
	gate := func() *access.Gate {
		g, err := access.New(clock)
		if err == nil {
			err = g.KeepBans(file)
		}
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	killed := gate()
	if _, err := killed.Ban(access.Ban{By: access.BanAddress, Value: "192.0.2.7"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	tick := make(chan time.Time)
	var saving sync.WaitGroup
	saving.Go(func() { saveBans(ctx, killed, tick, func() bool { return false }, slog.New(slog.DiscardHandler)) })
	mu.Lock()
	wall, passed = wall.Add(48*time.Hour), time.Minute // NTP has answered
	mu.Unlock()
	tick <- wall
	tick <- wall // the first has been done
	cancel()
	saving.Wait()
	r := access.Request{Action: access.Play, Stream: "live/s", Address: netip.MustParseAddrPort("192.0.2.7:5000")}
	if gate().Banned(r, "") == nil {
		t.Error("the ban has ended with the clock")
	}
}
