package access

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func mustNew(t *testing.T, o Options) *Gate {
	t.Helper()
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// try admits r or returns the error.
func try(t *testing.T, g *Gate, action Action, stream, address string) (func(), error) {
	t.Helper()
	release, err := g.Admit(context.Background(), Request{Action: action, Stream: stream, Address: netip.MustParseAddrPort(address)})
	if err == nil && release == nil || err != nil && release != nil {
		t.Fatalf("release %v with error %v", release != nil, err)
	}
	return release, err
}

func TestLimitsRefuseOneTooManyAndTakeTheNextAfterARelease(t *testing.T) {
	g := mustNew(t, Options{MaxStreams: 2, MaxViewers: 3, MaxViewersPerAddress: 2})
	first, err := try(t, g, Publish, "live/a", "10.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := try(t, g, Publish, "live/b", "10.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	_, err = try(t, g, Publish, "live/c", "10.0.0.1:1")
	if !errors.Is(err, ErrLimit) || errors.Is(err, ErrDenied) || Status(err) != 503 || Reason(err) != "no room for more streams (limit 2)" {
		t.Errorf("third stream: %v, status %d, reason %q", err, Status(err), Reason(err))
	}
	first()
	first()
	if _, err := try(t, g, Publish, "live/c", "10.0.0.1:1"); err != nil {
		t.Errorf("after a release: %v", err)
	}
	if _, err := try(t, g, Publish, "live/d", "10.0.0.1:1"); !errors.Is(err, ErrLimit) {
		t.Errorf("a second release made room: %v", err)
	}

	viewer, err := try(t, g, Play, "live/a", "10.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := try(t, g, Play, "live/b", "[::ffff:10.0.0.1]:2"); err != nil {
		t.Fatal(err)
	}
	if _, err := try(t, g, Play, "live/a", "10.0.0.1:3"); !errors.Is(err, ErrLimit) {
		t.Errorf("third viewer of an address: %v", err)
	}
	if _, err := try(t, g, Play, "live/a", "10.0.0.2:1"); err != nil {
		t.Errorf("another address: %v", err)
	}
	if _, err := try(t, g, Play, "live/a", "10.0.0.3:1"); !errors.Is(err, ErrLimit) {
		t.Errorf("fourth viewer: %v", err)
	}
	viewer()
	if _, err := try(t, g, Play, "live/a", "10.0.0.1:4"); err != nil {
		t.Errorf("after a release: %v", err)
	}
	if got, want := g.Usage(), (Usage{Streams: 2, Viewers: 3, Addresses: 2, Publishers: 1}); got != want {
		t.Errorf("usage %+v, want %+v", got, want)
	}
}

// An address that publishes as many streams as it may can still replace the publisher of one of them; pulls
// have no address.
func TestStreamsOfOneAddress(t *testing.T) {
	g := mustNew(t, Options{MaxStreamsPerAddress: 1})
	first, err := try(t, g, Publish, "live/a", "10.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	second, err := try(t, g, Publish, "live/a", "10.0.0.1:2")
	if err != nil {
		t.Fatalf("the same stream again: %v", err)
	}
	first()
	if _, err := try(t, g, Publish, "live/b", "10.0.0.1:3"); !errors.Is(err, ErrLimit) {
		t.Errorf("a second stream: %v", err)
	}
	if _, err := try(t, g, Publish, "live/b", "10.0.0.2:1"); err != nil {
		t.Errorf("another address: %v", err)
	}
	for _, stream := range []string{"live/c", "live/d"} {
		if _, err := g.Reserve(stream); err != nil {
			t.Errorf("a pull: %v", err)
		}
	}
	second()
	if _, err := try(t, g, Publish, "live/b", "10.0.0.1:3"); err != nil {
		t.Errorf("after a release: %v", err)
	}
}

// Only for a place among all viewers, or those of its stream, may a viewer that takes nothing be ended: one
// address that has all of its places would end those of others.
func TestWhoGivesPlace(t *testing.T) {
	for _, c := range []struct {
		o     Options
		asked string
	}{
		{Options{MaxViewers: 1}, "a viewer of "},
		{Options{MaxViewersPerStream: 1}, "a viewer of live/s"},
		{Options{MaxViewersPerAddress: 1}, ""},
	} {
		g := mustNew(t, c.o)
		release, err := try(t, g, Play, "live/s", "10.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		asked, gives := "", false
		g.Yields(func(stream string) bool {
			asked += "a viewer of " + stream
			if gives {
				release()
			}
			return gives
		})
		if _, err := try(t, g, Play, "live/s", "10.0.0.1:2"); !errors.Is(err, ErrLimit) || asked != c.asked {
			t.Errorf("%+v: %v, asked %q", c.o, err, asked)
		}
		gives = true
		if _, err := try(t, g, Play, "live/s", "10.0.0.1:2"); (err == nil) != (c.asked != "") || g.Usage().Viewers != 1 {
			t.Errorf("%+v: %v, %+v", c.o, err, g.Usage())
		}
	}
}

// What is asked about counts meanwhile, and not when the answer is no, or a ban has come before it.
func TestWhatIsRefusedLaterDoesNotCount(t *testing.T) {
	for _, c := range []struct{ answer, want error }{{Refused("not you"), ErrDenied}, {errors.New("no answer"), ErrHook}, {nil, ErrBanned}} {
		var g *Gate
		g = mustNew(t, Options{Ask: askFunc(func() error {
			if n := g.Usage().Viewers; n != 1 {
				t.Errorf("%d viewers count while the hook is asked", n)
			}
			if c.answer == nil {
				if _, err := g.Ban(Ban{By: BanStream, Value: "live/s", Action: Play}, time.Hour); err != nil {
					t.Error(err)
				}
			}
			return c.answer
		})})
		if _, err := try(t, g, Play, "live/s", "10.0.0.1:1"); !errors.Is(err, c.want) || g.Usage() != (Usage{}) {
			t.Errorf("%v: %v, %+v", c.answer, err, g.Usage())
		}
	}
}

type askFunc func() error

func (f askFunc) Ask(context.Context, *Request) error { return f() }

func TestTakingOverNeedsNoFurtherStream(t *testing.T) {
	g := mustNew(t, Options{MaxStreams: 1})
	old, err := try(t, g, Publish, "live/s", "10.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	next, err := try(t, g, Publish, "live/s", "10.0.0.1:2")
	if err != nil {
		t.Fatal(err)
	}
	old()
	if _, err := try(t, g, Publish, "live/t", "10.0.0.1:3"); !errors.Is(err, ErrLimit) {
		t.Errorf("the stream is published still: %v", err)
	}
	next()
	if _, err := g.Reserve("live/t"); err != nil {
		t.Error(err)
	}
	if _, err := g.Reserve("live/u"); !errors.Is(err, ErrLimit) {
		t.Errorf("a reserved stream does not count: %v", err)
	}
}

func TestOneAddressIsAnIPv6Network(t *testing.T) {
	g := mustNew(t, Options{MaxViewersPerAddress: 1})
	if _, err := try(t, g, Play, "live/s", "[2001:db8:0:1::1]:1"); err != nil {
		t.Fatal(err)
	}
	if _, err := try(t, g, Play, "live/s", "[2001:db8:0:1:ffff::2]:1"); !errors.Is(err, ErrLimit) {
		t.Errorf("same /64: %v", err)
	}
	if _, err := try(t, g, Play, "live/s", "[2001:db8:0:2::1]:1"); err != nil {
		t.Errorf("next /64: %v", err)
	}
	unknown := Request{Action: Play, Stream: "live/s"}
	if _, err := g.Admit(context.Background(), unknown); err != nil {
		t.Error(err)
	}
	if _, err := g.Admit(context.Background(), unknown); !errors.Is(err, ErrLimit) {
		t.Errorf("unknown addresses count as one: %v", err)
	}
}

func TestLimitsHoldUnderConcurrency(t *testing.T) {
	const maxStreams, maxViewers, perAddress = 3, 20, 4
	g := mustNew(t, Options{MaxStreams: maxStreams, MaxViewers: maxViewers, MaxViewersPerAddress: perAddress})
	var viewers atomic.Int64
	var each [8]atomic.Int64
	var admitted, refused atomic.Int64
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			from := w % len(each)
			address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(from)}), 1)
			for i := range 200 {
				r := Request{Action: Play, Stream: "live/s", Address: address}
				if i%5 == 0 {
					r = Request{Action: Publish, Stream: fmt.Sprint("live/", (w+i)%6), Address: address}
				}
				release, err := g.Admit(context.Background(), r)
				if err != nil {
					if !errors.Is(err, ErrLimit) {
						t.Error(err)
					}
					refused.Add(1)
					continue
				}
				admitted.Add(1)
				if r.Action == Play {
					if n := viewers.Add(1); n > maxViewers {
						t.Errorf("%d viewers", n)
					}
					if n := each[from].Add(1); n > perAddress {
						t.Errorf("%d viewers of one address", n)
					}
					each[from].Add(-1)
					viewers.Add(-1)
				}
				if n := g.Usage().Streams; n > maxStreams {
					t.Errorf("%d streams", n)
				}
				release()
				release()
			}
		})
	}
	wg.Wait()
	if got := g.Usage(); got != (Usage{}) || len(g.limits.watched)+len(g.limits.publishers) > 0 {
		t.Errorf("left: %+v, streams that are watched %v, publishers %v", got, g.limits.watched, g.limits.publishers)
	}
	t.Logf("%d admitted, %d refused", admitted.Load(), refused.Load())
}

// One release function may be called by several goroutines and counts once.
func TestReleaseCountsOnce(t *testing.T) {
	g := mustNew(t, Options{MaxViewers: 5})
	for range 100 {
		stay, err := try(t, g, Play, "live/s", "10.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		release, err := try(t, g, Play, "live/s", "10.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(release)
		}
		wg.Wait()
		if n := g.Usage().Viewers; n != 1 {
			t.Fatalf("%d viewers", n)
		}
		stay()
	}
}

func TestNegativeLimitsAndWrongActionsAreRefused(t *testing.T) {
	for _, o := range []Options{{MaxStreams: -1}, {MaxViewers: -1}, {MaxViewersPerAddress: -1}, {Protect: []Action{"record"}, Secret: testSecret}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_, _ = mustNew(t, Options{}).Admit(context.Background(), Request{Action: "record"})
}
