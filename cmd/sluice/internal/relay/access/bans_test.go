package access

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A network in the form that sockets for both families show bans the hosts that
// it names.
func TestBanOfIPv4InIPv6(t *testing.T) {
	for value, want := range map[string]string{
		"::ffff:10.0.0.0/104": "10.0.0.0/8", "::ffff:10.1.2.3": "10.1.2.3/32", "10.1.2.3/8": "10.0.0.0/8", "2001:db8::1": "2001:db8::/64", "fe80::1%eth0": "fe80::/64",
	} {
		g := mustNew(t, Options{})
		b, err := g.Ban(Ban{By: BanAddress, Value: value}, time.Minute)
		if err != nil || b.Value != want {
			t.Errorf("%s: %+v, %v", value, b, err)
			continue
		}
		address := netip.MustParsePrefix(want).Addr()
		if _, err := try(t, g, Play, "live/s", netip.AddrPortFrom(address, 1).String()); !errors.Is(err, ErrBanned) || !b.Matches(Play, "live/s", address, "") {
			t.Errorf("%s: a host of it: %v", value, err)
		}
	}
	g := mustNew(t, Options{})
	for _, value := range []string{"::ffff:0:0/90", "evil", "", "10.0.0.0/33"} {
		if _, err := g.Ban(Ban{By: BanAddress, Value: value}, time.Minute); !errors.Is(err, ErrBan) {
			t.Errorf("%q: %v", value, err)
		}
	}
}

func TestWrongBans(t *testing.T) {
	g := mustNew(t, Options{})
	for _, c := range []struct {
		ban    Ban
		within time.Duration
	}{
		{Ban{By: BanAddress, Value: "10.0.0.1"}, time.Second - 1},
		{Ban{By: BanAddress, Value: "10.0.0.1"}, MaxBan + 1},
		{Ban{By: BanAddress, Value: "live/s"}, time.Hour},
		{Ban{By: BanStream, Action: Play}, time.Hour},
		{Ban{By: BanStream, Value: "live/s"}, time.Hour},
		{Ban{By: BanStream, Value: "live/s", Action: "record"}, time.Hour},
		{Ban{By: BanToken}, time.Hour},
		{Ban{By: BanToken, Value: "a.b"}, time.Hour},
		{Ban{By: "name", Value: "a"}, time.Hour},
	} {
		if _, err := g.Ban(c.ban, c.within); !errors.Is(err, ErrBan) || len(g.Bans()) > 0 {
			t.Errorf("%+v for %v: %v", c.ban, c.within, err)
		}
	}
	for id, want := range map[string]int{"b1": 1, "b10@x": 10, "": 0, "b": 0, "b0": 0, "b-1": 0, "b01": 0, "b+1": 0, "c1": 0, "1": 0, "b1@": 0} {
		if n, ok := banNumber(id); n != want || ok != (want > 0) {
			t.Errorf("%q: %d, %v", id, n, ok)
		}
	}
}

// Each kind of ban refuses what it is of, and nothing else.
func TestWhatBansRefuse(t *testing.T) {
	g := mustNew(t, Options{Secret: testSecret, Protect: []Action{Publish, Play}})
	for _, b := range []Ban{{By: BanAddress, Value: "10.0.0.1"}, {By: BanStream, Value: "live/s", Action: Play}, {By: BanToken, Value: "cam"}} {
		if _, err := g.Ban(b, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		action      Action
		stream      string
		address, id string
		banned      bool
	}{
		{Play, "live/t", "10.0.0.2:1", "other", false},
		{Play, "live/t", "10.0.0.1:1", "other", true},
		{Play, "live/s", "10.0.0.2:1", "other", true},
		{Publish, "live/s", "10.0.0.2:1", "other", false},
		{Publish, "live/t", "10.0.0.2:1", "cam", true},
	} {
		token := SignID(testSecret, c.action, c.stream, c.id, time.Now().Add(time.Hour))
		r := Request{Action: c.action, Stream: c.stream, Address: netip.MustParseAddrPort(c.address), Token: token}
		if _, err := g.Admit(context.Background(), r); errors.Is(err, ErrBanned) != c.banned || !c.banned && err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Bans in a file survive the gate; those that have expired do not.
func TestBansInAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bans.json")
	now := time.Unix(1_700_000_000, 0)
	clock := func() time.Time { return now }
	open := func() *Gate {
		t.Helper()
		g := mustNew(t, Options{Now: clock})
		if err := g.KeepBans(name); err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := open()
	for _, b := range []struct {
		ban    Ban
		within time.Duration
	}{
		{Ban{By: BanAddress, Value: "10.0.0.7"}, time.Hour},
		{Ban{By: BanStream, Value: "live/s", Action: Publish}, time.Minute},
		{Ban{By: BanToken, Value: "cam"}, time.Hour},
	} {
		if _, err := g.Ban(b.ban, b.within); err != nil {
			t.Fatal(err)
		}
	}
	if ok, err := g.Lift("b3"); !ok || err != nil {
		t.Errorf("lifted: %v, %v", ok, err)
	}
	before := g.Bans()
	if g = open(); len(before) != 2 || len(g.Bans()) != 2 || g.Bans()[0] != before[0] || g.Bans()[1] != before[1] {
		t.Errorf("%+v after a restart, %+v before", g.Bans(), before)
	}
	if _, err := try(t, g, Play, "live/t", "10.0.0.7:1"); !errors.Is(err, ErrBanned) {
		t.Errorf("a banned address after a restart: %v", err)
	}
	now = now.Add(10 * time.Minute)
	g = open()
	if bans := g.Bans(); len(bans) != 1 || bans[0].ID != "b1" {
		t.Errorf("after the second has expired: %+v", bans)
	}
	if b, err := g.Ban(Ban{By: BanToken, Value: "cam"}, time.Hour); err != nil || b.ID != "b4" {
		t.Errorf("the next: %+v, %v", b, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(name), "*")); err != nil || len(left) != 1 {
		t.Errorf("files: %v, %v", left, err)
	}
}

// A damaged file stops the start and says where; it is never taken for an empty
// list, which would let everyone in again.
func TestDamagedBansFile(t *testing.T) {
	good := `{"last":1,"bans":[{"id":"b1","by":"address","value":"10.0.0.7/32","since":"2023-11-14T22:13:20Z","until":"2099-11-14T22:13:20Z"}]}` + "\n"
	for what, text := range map[string]string{
		"cut": good[:len(good)/2], "empty": "", "no list": "{}", "more behind": good + "x",
		"a wrong kind":    strings.Replace(good, `"address"`, `"colour"`, 1),
		"a wrong network": strings.Replace(good, "10.0.0.7/32", "10.0.0.700", 1),
		"a wrong id":      strings.Replace(good, `"b1"`, `"x"`, 1),
		"the same twice":  strings.Replace(good, "]", ","+good[18:strings.Index(good, "]")]+"]", 1),
		"another field":   strings.Replace(good, `"since"`, `"sinse"`, 1),
	} {
		name := filepath.Join(t.TempDir(), "bans.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		g := mustNew(t, Options{})
		if err := g.KeepBans(name); !errors.Is(err, ErrBansFile) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", what, err)
		}
		if kept, _ := os.ReadFile(name); string(kept) != text {
			t.Errorf("%s: the file was changed: %q", what, kept)
		}
	}
	name := filepath.Join(t.TempDir(), "bans.json")
	if err := os.WriteFile(name, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if g := mustNew(t, Options{}); g.KeepBans(name) != nil || len(g.Bans()) != 1 {
		t.Errorf("the undamaged one: %v", g.Bans())
	}
}

// A ban that cannot be saved holds, and the error says that it was not saved.
func TestBanThatCannotBeSaved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	g := mustNew(t, Options{})
	if err := g.KeepBans(filepath.Join(dir, "bans.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	b, err := g.Ban(Ban{By: BanAddress, Value: "10.0.0.7"}, time.Minute)
	if !errors.Is(err, ErrBansFile) || b.ID != "b1" || len(g.Bans()) != 1 {
		t.Errorf("%+v, %v", b, err)
	}
	if ok, err := g.Lift("b1"); !ok || !errors.Is(err, ErrBansFile) {
		t.Errorf("%v, %v", ok, err)
	}
	if _, err := g.Ban(Ban{By: BanAddress, Value: "10.0.0.8"}, time.Minute); !errors.Is(err, ErrBansFile) {
		t.Error(err)
	}
	if err := g.SaveBans(); !errors.Is(err, ErrBansFile) {
		t.Errorf("saving later, while that is not possible: %v", err)
	}
	if err := mustNew(t, Options{}).KeepBans(filepath.Join(dir, "bans.json")); !errors.Is(err, ErrBansFile) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := g.SaveBans(); err != nil {
		t.Error(err)
	}
	next := mustNew(t, Options{})
	if err := next.KeepBans(filepath.Join(dir, "bans.json")); err != nil || len(next.Bans()) != 1 || next.Bans()[0].ID != "b2" {
		t.Errorf("%v, %v were saved later", err, next.Bans())
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := g.SaveBans(); err != nil {
		t.Errorf("nothing is to be saved: %v", err)
	}
}
