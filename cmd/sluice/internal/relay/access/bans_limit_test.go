package access

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// The lists of bans and of lifted ones are bounded, of one's own and of other servers', and
// those that have expired leave room.
func TestBansAreBounded(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	g := mustNew(t, Options{Now: func() time.Time { return now }})
	until := now.Add(time.Hour)
	fill := func() (list map[string]Ban, lifted map[string]time.Time) {
		list, lifted = map[string]Ban{}, map[string]time.Time{}
		for n := range maxBans {
			b := Ban{ID: fmt.Sprintf("b%d@full", n+1), By: BanToken, Value: "x", Since: now, Until: until}
			list[b.ID], lifted[fmt.Sprintf("b%d@gone", n+1)] = b, until
		}
		return list, lifted
	}
	g.bans.list, g.bans.lifted = fill()
	if b, err := g.Ban(Ban{By: BanToken, Value: "cam"}, time.Minute); !errors.Is(err, ErrBan) {
		t.Errorf("one more than fit: %+v, %v", b, err)
	}
	other := Ban{ID: "b1@other", By: BanToken, Value: "cam", Since: now, Until: until}
	if added, err := g.MergeBans(BanList{Bans: []Ban{other}}); !errors.Is(err, ErrBan) || len(added) != 0 {
		t.Errorf("one more of another server: %+v, %v", added, err)
	}
	if _, err := g.MergeBans(BanList{Lifted: map[string]time.Time{"b2@other": until}}); !errors.Is(err, ErrBan) {
		t.Errorf("one more that was lifted: %v", err)
	}
	if n, m := len(g.bans.list), len(g.bans.lifted); n != maxBans || m != maxBans {
		t.Errorf("there are %d bans and %d lifted ones", n, m)
	}
	now = until.Add(time.Second)
	if b, err := g.Ban(Ban{By: BanToken, Value: "cam"}, time.Minute); err != nil {
		t.Errorf("all have expired: %+v, %v", b, err)
	}
	if n := len(g.bans.list); n != 1 {
		t.Errorf("%d bans, of which one holds", n)
	}
}

// A ban that another server has lifted ends for good, also when there is no room to keep in mind that it was.
func TestLiftedBeyondTheLimitIsSaved(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	options, name := Options{Now: func() time.Time { return now }}, filepath.Join(t.TempDir(), "bans.json")
	g := mustNew(t, options)
	if err := g.KeepBans(name); err != nil {
		t.Fatal(err)
	}
	g.ShareBans("one")
	lifts := map[string]time.Time{}
	for range 2 {
		b, err := g.Ban(Ban{By: BanToken, Value: "cam"}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		lifts[b.ID] = b.Until
	}
	g.bans.lifted = map[string]time.Time{}
	for n := range maxBans {
		g.bans.lifted[fmt.Sprintf("b%d@gone", n+1)] = now.Add(time.Hour)
	}
	if _, err := g.MergeBans(BanList{Lifted: lifts}); !errors.Is(err, ErrBan) {
		t.Errorf("lifted beyond the limit: %v", err)
	}
	after := mustNew(t, options)
	if err := after.KeepBans(name); err != nil {
		t.Fatal(err)
	}
	if n, m := len(g.bans.list), len(after.bans.list); n != 0 || m != 0 {
		t.Errorf("%d bans hold, and %d when the server starts again", n, m)
	}
}
