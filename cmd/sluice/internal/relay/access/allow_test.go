package access

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestAllowListHasWhatItSays(t *testing.T) {
	for _, c := range []struct {
		list, address string
		want          bool
	}{
		{"", "203.0.113.9", true},
		{" , ", "203.0.113.9", true},
		{"10.0.0.0/8", "10.255.0.1", true},
		{"10.0.0.0/8", "11.0.0.1", false},
		{"10.0.0.0/8", "::ffff:10.1.2.3", true},
		{"10.0.0.0/8", "::10.1.2.3", false},
		{"::ffff:10.0.0.0/104", "10.1.2.3", true},
		{"::ffff:10.0.0.0/104", "::ffff:10.1.2.3", true},
		{"::ffff:10.0.0.0/104", "11.1.2.3", false},
		{"::ffff:192.0.2.7", "192.0.2.7", true},
		{"192.0.2.7", "192.0.2.7", true},
		{"192.0.2.7", "192.0.2.8", false},
		{"192.0.2.7, 198.51.100.0/24", "198.51.100.200", true},
		{"2001:db8::/32", "2001:db8:1::1", true},
		{"2001:db8::/32", "2001:db9::1", false},
		{"2001:db8::1", "2001:db8::1", true},
		{"fe80::/10", "fe80::1%eth0", true},
		{"0.0.0.0/0", "203.0.113.9", true},
		{"0.0.0.0/0", "2001:db8::1", false},
		{"::/0", "2001:db8::1", true},
		{"::/0", "203.0.113.9", false},
		{"::/0", "::ffff:203.0.113.9", false},
		{"127.0.0.1", "", false},
		{"0.0.0.0/0,::/0", "", false},
	} {
		list, err := ParseAllow(c.list)
		if err != nil {
			t.Errorf("%q: %v", c.list, err)
			continue
		}
		for _, action := range []Action{Publish, Play} {
			g := mustNew(t, Options{AllowPublish: list, AllowPlay: list})
			r := Request{Action: action, Stream: "live/s"}
			if c.address != "" {
				r.Address = netip.AddrPortFrom(netip.MustParseAddr(c.address), 1234)
			}
			release, err := g.Admit(context.Background(), r)
			if (err == nil) != c.want {
				t.Errorf("%q, %s of %s: %v", c.list, action, c.address, err)
			}
			if err == nil {
				release()
				continue
			}
			if !errors.Is(err, ErrAddress) || !errors.Is(err, ErrDenied) || Status(err) != 403 {
				t.Errorf("%q, %s: %v has status %d", c.list, c.address, err, Status(err))
			}
		}
	}
}

func TestAllowListsOfTheActionsAreApart(t *testing.T) {
	inside, _ := ParseAllow("10.0.0.0/8")
	g := mustNew(t, Options{AllowPublish: inside})
	outside := netip.MustParseAddrPort("203.0.113.9:1")
	if _, err := g.Admit(context.Background(), Request{Action: Publish, Stream: "live/s", Address: outside}); !errors.Is(err, ErrAddress) {
		t.Errorf("publish: %v", err)
	}
	if _, err := g.Admit(context.Background(), Request{Action: Play, Stream: "live/s", Address: outside}); err != nil {
		t.Errorf("play: %v", err)
	}
}

func TestWrongAllowLists(t *testing.T) {
	for _, c := range []struct{ list, says string }{
		{"localhost", "localhost"},
		{"10.0.0.0/33", "10.0.0.0/33"},
		{"10.0.0.5/8", "10.0.0.0/8"},
		{"10.0.0.0/-1", "10.0.0.0/-1"},
		{"10.0.0", "10.0.0"},
		{"10.0.0.1:80", "10.0.0.1:80"},
		{"::ffff:0.0.0.0/90", "/90"},
		{"10.0.0.1 10.0.0.2", "10.0.0.1 10.0.0.2"},
	} {
		if list, err := ParseAllow(c.list); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, %v", c.list, list, err)
		}
	}
	if _, err := New(Options{AllowPlay: []netip.Prefix{{}}}); err == nil {
		t.Error("a prefix that is none was taken")
	}
}

func TestParseActions(t *testing.T) {
	got, err := ParseActions(" publish, play,")
	if err != nil || len(got) != 2 || got[0] != Publish || got[1] != Play {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := ParseActions(""); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := ParseActions("publish,record"); err == nil || !strings.Contains(err.Error(), "record") {
		t.Errorf("got %v", err)
	}
}
