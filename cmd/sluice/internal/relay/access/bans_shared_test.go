package access

import (
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func sharing(t *testing.T, name string, now *time.Time) *Gate {
	t.Helper()
	g, err := New(Options{Now: func() time.Time { return *now }})
	if err != nil {
		t.Fatal(err)
	}
	g.ShareBans(name)
	return g
}

// What one bans or lifts the other does, in any order and any number of times.
func TestBansAreShared(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	a, b := sharing(t, "a", &now), sharing(t, "b", &now)
	both := func(n int) {
		t.Helper()
		for range 2 {
			for _, pair := range [][2]*Gate{{a, b}, {b, a}} {
				if _, err := pair[0].MergeBans(pair[1].SharedBans()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if len(a.Bans()) != n || len(b.Bans()) != n || a.BansSum() != b.BansSum() {
			t.Fatalf("%d and %d bans, not %d", len(a.Bans()), len(b.Bans()), n)
		}
	}
	first, err := a.Ban(Ban{By: BanAddress, Value: "192.0.2.1"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.Ban(Ban{By: BanStream, Value: "live/s", Action: Play}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if a.BansSum() == b.BansSum() || first.ID == second.ID {
		t.Error("different bans look the same")
	}
	old := a.SharedBans()
	both(2)
	if ok, err := b.Lift(first.ID); !ok || err != nil {
		t.Fatal(ok, err)
	}
	both(1)
	if added, err := b.MergeBans(old); len(added) != 0 || err != nil || len(b.Bans()) != 1 {
		t.Errorf("an old list brings back what was lifted: %v, %v", added, err)
	}
	now = now.Add(time.Hour)
	both(0)
	if n := len(a.SharedBans().Lifted); n != 0 {
		t.Errorf("%d are kept that would not hold any more", n)
	}
}

// Of servers whose clocks are years apart each keeps the time that a ban has left.
func TestBansAreSharedByClocksThatAreApart(t *testing.T) {
	here := time.Unix(1_700_000_000, 0)
	there := here.AddDate(-7, 0, 0)
	a, b := sharing(t, "a", &here), sharing(t, "b", &there)
	share := func() {
		t.Helper()
		for _, pair := range [][2]*Gate{{a, b}, {b, a}} {
			text, err := json.Marshal(pair[1].SharedBans())
			if err != nil {
				t.Fatal(err)
			}
			var list BanList
			if err := json.Unmarshal(text, &list); err != nil {
				t.Fatal(err)
			}
			if _, err := pair[0].MergeBans(list); err != nil {
				t.Fatal(err)
			}
		}
		if a.BansSum() != b.BansSum() {
			t.Fatalf("the lists differ: %+v, %+v", a.SharedBans(), b.SharedBans())
		}
	}
	pass := func(d time.Duration) { here, there = here.Add(d), there.Add(d) }
	first, err := a.Ban(Ban{By: BanAddress, Value: "192.0.2.1"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pass(10 * time.Minute)
	if _, err := b.Ban(Ban{By: BanToken, Value: "x"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	share()
	got := b.Bans()
	i := slices.IndexFunc(got, func(x Ban) bool { return x.ID == first.ID })
	if len(got) != 2 || i < 0 || !got[i].Until.Equal(there.Add(50*time.Minute)) || !got[i].Since.Equal(there.Add(-10*time.Minute)) {
		t.Fatalf("at %v: %+v", there, got)
	}
	if ok, err := b.Lift(first.ID); !ok || err != nil {
		t.Fatal(ok, err)
	}
	share()
	if len(a.Bans()) != 1 || len(a.SharedBans().Lifted) != 1 {
		t.Errorf("what was lifted holds: %+v", a.SharedBans())
	}
	pass(50 * time.Minute)
	if list := a.SharedBans(); len(list.Lifted) != 0 || len(list.Bans) != 1 {
		t.Errorf("after its time: %+v", list)
	}
	pass(10 * time.Minute)
	if list := a.SharedBans(); len(list.Bans) != 0 {
		t.Errorf("after its time: %+v", list)
	}
	share()
}

// The lists of servers before this version have no time that is left.
func TestBansOfServersThatSendEndsAlone(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	a, b := sharing(t, "a", &now), sharing(t, "b", &now)
	if _, err := a.Ban(Ban{By: BanToken, Value: "x"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	list := a.SharedBans()
	list.Left = nil
	if added, err := b.MergeBans(list); len(added) != 1 || err != nil || !added[0].Until.Equal(now.Add(time.Hour)) {
		t.Errorf("%+v, %v", added, err)
	}
}

func TestBansThatAreNotTaken(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	g := sharing(t, "a", &now)
	good := Ban{ID: "b1@b", By: BanToken, Value: "x", Until: now.Add(time.Hour)}
	for what, change := range map[string]func(*Ban){
		"no name in the id": func(b *Ban) { b.ID = "b1" },
		"no id":             func(b *Ban) { b.ID = "" },
		"no value":          func(b *Ban) { b.Value = "" },
		"another kind":      func(b *Ban) { b.By = "x" },
		"over":              func(b *Ban) { b.Until = now },
		"for years":         func(b *Ban) { b.Until = now.Add(2 * MaxBan) },
	} {
		b := good
		change(&b)
		if added, err := g.MergeBans(BanList{Bans: []Ban{b}}); len(added) > 0 || err != nil && !errors.Is(err, ErrBan) {
			t.Errorf("%s: %v, %v", what, added, err)
		}
	}
	for _, left := range []int64{0, -1, (2 * MaxBan).Milliseconds(), math.MaxInt64, math.MinInt64} {
		if added, err := g.MergeBans(BanList{Bans: []Ban{good}, Left: map[string]int64{good.ID: left}}); len(added) > 0 || err != nil {
			t.Errorf("%d ms are left: %v, %v", left, added, err)
		}
	}
	if added, err := g.MergeBans(BanList{Bans: []Ban{good, good}, Lifted: map[string]time.Time{"x": now.Add(time.Hour)}}); len(added) != 1 || err != nil {
		t.Errorf("%v, %v", added, err)
	}
	if len(g.SharedBans().Lifted) > 0 {
		t.Error("what is not the id of a ban was lifted")
	}
}

// Shared bans are in the file, too, and those from before get the name.
func TestSharedBansInAFile(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	name := filepath.Join(t.TempDir(), "bans.json")
	open := func() *Gate {
		g, err := New(Options{Now: func() time.Time { return now }})
		if err == nil {
			err = g.KeepBans(name)
		}
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := open()
	if _, err := g.Ban(Ban{By: BanToken, Value: "x"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	g.ShareBans("a")
	if _, err := g.MergeBans(BanList{Bans: []Ban{{ID: "b7@b", By: BanToken, Value: "y", Until: now.Add(time.Minute)}}}); err != nil {
		t.Fatal(err)
	}
	again := open().Bans()
	if len(again) != 2 || again[0].ID != "b7@b" || again[1].ID != "b1@a" {
		t.Errorf("%+v", again)
	}
}
