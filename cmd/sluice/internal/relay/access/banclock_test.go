package access

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// twoClocks are a clock that can be set, and the time that passes.
type twoClocks struct {
	wall   time.Time
	passed time.Duration
}

func (c *twoClocks) options() Options {
	return Options{Now: func() time.Time { return c.wall }, Elapsed: func() time.Duration { return c.passed }}
}

func (c *twoClocks) pass(d time.Duration) { c.wall, c.passed = c.wall.Add(d), c.passed+d }

// A ban holds as long as it was to hold, however the clock of the machine is set, and shows
// its end by the clock as it is.
func TestBanWhenTheClockIsSet(t *testing.T) {
	for _, by := range []time.Duration{-40 * 365 * 24 * time.Hour, -2 * time.Hour, -time.Minute, time.Minute, 2 * time.Hour, 40 * 365 * 24 * time.Hour} {
		c := &twoClocks{wall: time.Unix(1_700_000_000, 0)}
		g := mustNew(t, c.options())
		g.ShareBans("a")
		b, err := g.Ban(Ban{By: BanAddress, Value: "10.0.0.7"}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		lifted, err := g.Ban(Ban{By: BanAddress, Value: "10.0.0.8"}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Lift(lifted.ID); err != nil {
			t.Fatal(err)
		}
		c.pass(10 * time.Minute)
		c.wall = c.wall.Add(by)
		c.pass(49 * time.Minute)
		if _, err := try(t, g, Play, "live/s", "10.0.0.7:1"); !errors.Is(err, ErrBanned) {
			t.Errorf("%v: a minute before its end: %v", by, err)
		}
		list := g.SharedBans()
		if len(list.Bans) != 1 || list.Bans[0].Until.Sub(c.wall) != time.Minute || list.Bans[0].Until.Sub(list.Bans[0].Since) != time.Hour || list.Bans[0].ID != b.ID {
			t.Errorf("%v: it shows %+v at %v", by, list.Bans, c.wall)
		}
		if len(list.Lifted) != 1 {
			t.Errorf("%v: lifted: %v", by, list.Lifted)
		}
		c.pass(time.Minute)
		if release, err := try(t, g, Play, "live/s", "10.0.0.7:1"); err != nil {
			t.Errorf("%v: when it has ended: %v", by, err)
		} else {
			release()
		}
		if list := g.SharedBans(); len(list.Bans)+len(list.Lifted) != 0 {
			t.Errorf("%v: left: %+v", by, list)
		}
	}
}

// What a file says of a ban's end is by the clock as it was set last, and a ban that begins in the
// future, by a clock that was set back while no server ran, holds no longer than it was to.
func TestBansFileWhenTheClockIsSet(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bans.json")
	c := &twoClocks{wall: time.Unix(1_000, 0)} // a machine without a battery
	open := func() *Gate {
		t.Helper()
		g := mustNew(t, c.options())
		if err := g.KeepBans(name); err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := open()
	if _, err := g.Ban(Ban{By: BanToken, Value: "cam"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	c.pass(time.Minute)
	c.wall = time.Unix(1_700_000_000, 0)
	if err := g.SaveBans(); err != nil {
		t.Fatal(err)
	}
	saved, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.SaveBans(); err != nil {
		t.Fatal(err)
	}
	if again, err := os.Stat(name); err != nil || !os.SameFile(saved, again) {
		t.Errorf("what is in the file is written again: %v", err)
	}
	if g = open(); len(g.Bans()) != 1 || g.Bans()[0].Until.Sub(c.wall) != 59*time.Minute {
		t.Errorf("after a restart: %+v", g.Bans())
	}
	c.wall = time.Unix(1_000, 0)
	if g = open(); len(g.Bans()) != 1 || g.Bans()[0].Until.Sub(c.wall) != time.Hour {
		t.Errorf("after a restart with the clock years back: %+v", g.Bans())
	}
	if c.pass(time.Hour); len(g.Bans()) != 0 {
		t.Errorf("%+v", g.Bans())
	}
}
