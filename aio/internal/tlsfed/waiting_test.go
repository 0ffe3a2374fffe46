package tlsfed

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/sluicetest"
)

// number is the i-th host.
func number(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32)
}

// Behind hundreds that wait, of its own host, of another one or each of its own, a session has one
// of the next two places.
func TestWhoComesBehindManyHasAPlaceSoon(t *testing.T) {
	const many = 300
	for name, from := range map[string]func(int) netip.Prefix{
		"all of one host":         func(int) netip.Prefix { return number(0) },
		"many of one other host":  func(i int) netip.Prefix { return number(i / many) },
		"many of four others":     func(i int) netip.Prefix { return number(i%4 + 4*(i/many)) },
		"each of a host":          number,
		"all of none that has IP": func(int) netip.Prefix { return netip.Prefix{} },
	} {
		for turn := range 2 {
			var w waiting
			w.last = turn == 1
			for i := range many {
				w.add(new(Session), from(i))
			}
			late := new(Session)
			w.add(late, from(many))
			if next := []*Session{w.next(), w.next()}; !slices.Contains(next, late) {
				t.Errorf("%s: it has none of the next two places", name)
			}
		}
	}
}

// Others come for each place that is given: who was there before them is not passed over for long.
func TestWhoWaitsLongestIsNotPassedOver(t *testing.T) {
	const before, places = 20, 500
	for name, from := range map[string]func(int) netip.Prefix{
		"all of one host":       func(int) netip.Prefix { return number(0) },
		"each of a host":        number,
		"others of one host":    func(i int) netip.Prefix { return number(min(i, before)) },
		"all before of one":     func(i int) netip.Prefix { return number(max(i, before)) },
		"by turns of two hosts": func(i int) netip.Prefix { return number(i % 2) },
	} {
		var w waiting
		first := map[*Session]bool{}
		for i := range before {
			s := new(Session)
			first[s] = true
			w.add(s, from(i))
		}
		for i := range places {
			w.add(new(Session), from(before+i))
			delete(first, w.next())
		}
		if len(first) > 0 {
			t.Errorf("%s: after %d places %d of the first %d have none", name, places, len(first), before)
		}
	}
}

// In any order of coming, leaving and places each session has one place, and nothing is left.
func TestHistoriesOfWaitingSessions(t *testing.T) {
	rng := rand.New(rand.NewPCG(sluicetest.Seed(t), 1))
	for range 200 {
		var w waiting
		there := map[*Session]bool{}
		var all []*Session
		gone := func(s *Session) {
			if !there[s] {
				t.Fatal("a session that does not wait has a place")
			}
			delete(there, s)
		}
		hosts := 1 + rng.IntN(8)
		for range 300 {
			switch rng.IntN(5) {
			case 0, 1, 2:
				s := new(Session)
				there[s] = true
				all = append(all, s)
				w.add(s, number(rng.IntN(hosts)))
			case 3:
				if len(there) > 0 {
					gone(w.next())
				}
			case 4:
				if len(all) > 0 {
					s := all[rng.IntN(len(all))]
					w.remove(s)
					delete(there, s)
				}
			}
		}
		for range len(there) {
			gone(w.next())
		}
		if s := w.next(); s != nil || len(w.sessions)+len(w.hosts)+w.turns.Len()+w.fresh.Len() > 0 {
			t.Fatalf("%d sessions, %d hosts, %d turns, %d fresh hosts are left", len(w.sessions), len(w.hosts), w.turns.Len(), w.fresh.Len())
		}
	}
}

// A session that was closed needs no place: none gives way to it, and nothing keeps it.
func TestClosedSessionsWaitForNoPlace(t *testing.T) {
	h := &Handshakes{Limit: 1, Silence: time.Second}
	s := &Session{handshakes: h, running: new(sync.WaitGroup), opening: &opening{started: true}}
	s.opening.arrived.L = &s.mu
	s.running.Add(1)
	h.waiting.add(s, netip.Prefix{})
	h.running = map[*Session]*progress{new(Session): {since: time.Now().Add(-time.Minute)}}
	s.Close()
	if list := h.silent(); len(list) != 0 || h.timer != nil {
		t.Errorf("%d handshakes give way to a session that was closed", len(list))
	}
	s.running.Wait()
}

func TestHostsOfAddresses(t *testing.T) {
	for _, c := range []struct{ address, want string }{
		{"192.0.2.7:1", "192.0.2.7/32"},
		{"[::ffff:192.0.2.7]:2", "192.0.2.7/32"},
		{"[2001:db8:1:2:3:4:5:6]:3", "2001:db8:1:2::/64"},
		{"[fe80::1%eth0]:4", "fe80::/64"},
	} {
		if got := hostOf(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.address))); got.String() != c.want {
			t.Errorf("%s is of %v, want %s", c.address, got, c.want)
		}
	}
	for _, a := range []net.Addr{nil, (*net.TCPAddr)(nil), &net.TCPAddr{}, &net.UnixAddr{Name: "x", Net: "unix"}} {
		if got := hostOf(a); got != (netip.Prefix{}) {
			t.Errorf("%s is of %v", fmt.Sprintf("%T %v", a, a), got)
		}
	}
}
