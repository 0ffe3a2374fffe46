package listen

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/sluicetest"
)

func arrivals(places, share int, quiet time.Duration) *Arrivals {
	a := &Arrivals{quietFor: quiet}
	a.Limit(places, share)
	return a
}

func enter(t *testing.T, a *Arrivals, ip string, end func(error)) *Arrival {
	t.Helper()
	if end == nil {
		end = func(error) { t.Error("a connection had to give way") }
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	v, err := a.Enter(ctx, netip.MustParseAddr(ip), end)
	if err != nil {
		t.Fatalf("%s: %v", ip, err)
	}
	return v
}

// Silent connections of one address do not keep others out, not for a moment;
// and those of its own address get in when the oldest silent ones have given way.
func TestSilentConnectionsGiveWay(t *testing.T) {
	a := arrivals(32, 8, 20*time.Millisecond)
	gone := make(chan int, 8)
	for i := range 8 {
		enter(t, a, "192.0.2.1", func(err error) {
			if gone <- i; !errors.Is(err, ErrGaveWay) {
				t.Errorf("ends with %v", err)
			}
		})
	}
	other := enter(t, a, "192.0.2.2", nil) // whose address has places of its own
	for range 3 {
		enter(t, a, "192.0.2.1", nil).Leave()
	}
	other.Leave()
	n := a.Stats().GaveWay
	if n == 0 {
		t.Error("none gave way")
	}
	for want := range int(n) { // it is ended after its place was given on
		select {
		case i := <-gone:
			if i != want {
				t.Errorf("%d gave way as number %d", i, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%d are counted, %d were ended", n, want)
		}
	}
	if len(gone) > 0 {
		t.Errorf("more than %d were ended", n)
	}
}

// When many addresses hold all places, the oldest silent one gives way, and one
// that gets on does not.
func TestOldestOfAllGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := arrivals(3, 2, 50*time.Millisecond)
		ended := make(chan string, 3)
		hold := func(ip string) *Arrival { return enter(t, a, ip, func(error) { ended <- ip }) }
		first, _, third := hold("192.0.2.1"), hold("192.0.2.2"), hold("192.0.2.3")
		stop := make(chan struct{})
		var working sync.WaitGroup
		working.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					first.Progress()
					third.Progress()
				}
			}
		})
		enter(t, a, "2001:db8::1", nil)
		close(stop)
		working.Wait()
		if ip := <-ended; ip != "192.0.2.2" || len(ended) > 0 {
			t.Errorf("%s gave way, and %d more", ip, len(ended))
		}
	})
}

// A timer that has fired when it is stopped, and looks when another one is set by then, does not go on
// beside that: each time it would be one more.
func TestOneTimerLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := arrivals(1, 1, time.Second)
		asked := 0 // twice for each look
		a.SetTight(func() bool {
			asked++
			return false
		})
		place := enter(t, a, "192.0.2.1", nil)
		next := a.Come(netip.MustParseAddr("192.0.2.1"), nil, nil)
		for range 4 {
			a.look() // late, of an earlier timer
		}
		asked = 0
		for range 100 {
			<-time.After(100 * time.Millisecond)
			place.Progress()
		}
		if looks := asked / 2; looks < 35 || looks > 45 {
			t.Errorf("%d looks in 10 s, each %v", looks, a.quietTime()/4)
		}
		place.Leave()
		next.Leave()
	})
}

// Who is silent is looked for again when connections wait after a time in which none did, and by another time
// as soon as that is set. A look that comes when none waits changes nothing.
func TestSilenceIsLookedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := arrivals(1, 0, time.Minute)
		gone := make(chan int, 4)
		come := func(i int) *Arrival {
			return a.Come(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), nil, func(error) { gone <- i })
		}
		within := func(d time.Duration, want int) {
			t.Helper()
			select {
			case i := <-gone:
				if i != want {
					t.Fatalf("%d gives way, not %d", i, want)
				}
			case <-time.After(d):
				t.Fatalf("%d has not given way in %v", want, d)
			}
		}
		first := come(1)
		come(2)
		first.Leave() // none waits
		a.look()
		come(3)
		within(2*time.Minute, 2)
		a.SetQuiet(time.Hour)
		last := come(4)
		<-time.After(time.Minute)
		a.SetQuiet(time.Second)
		within(3*time.Second, 3)
		last.Leave()
	})
}

// A process that stood still has read nothing meanwhile: no connection gives way for that
// time, and each for its own silence afterwards.
func TestStandstillIsNoSilence(t *testing.T) {
	var mu sync.Mutex
	now := time.Unix(1_700_000_000, 0)
	pass := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	a := &Arrivals{now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}}
	a.Limit(1, 1)
	gone := make(chan error, 1)
	enter(t, a, "192.0.2.1", func(err error) { gone <- err })
	entered := make(chan struct{})
	go func() {
		defer close(entered)
		enter(t, a, "192.0.2.1", nil).Leave()
	}()
	for a.Stats().Waiting == 0 {
		runtime.Gosched()
	}
	pass(quiet / 8)
	pass(3 * quiet)
	a.look()
	if n := a.Stats().GaveWay; n != 0 {
		t.Errorf("%d gave way after a standstill", n)
	}
	for range 4 {
		pass(quiet / 4)
		a.look()
	}
	if err := <-gone; !errors.Is(err, ErrGaveWay) {
		t.Errorf("ends with %v", err)
	}
	<-entered
}

// All connections of a burst are served, round-robin by address.
func TestBurstWaitsItsTurn(t *testing.T) {
	a := arrivals(16, 8, time.Minute)
	const hosts = 4
	each := min(1000, maxWaiting()/hosts) // all of them may wait at once
	var all sync.WaitGroup
	var mu sync.Mutex
	served, most := map[string]int{}, 0
	for h := range hosts {
		ip := netip.AddrFrom4([4]byte{192, 0, 2, byte(h)}).String()
		for range each {
			all.Go(func() {
				v := enter(t, a, ip, nil)
				mu.Lock()
				served[ip]++
				most = max(most, a.Stats().On)
				mu.Unlock()
				v.Leave()
				v.Leave()
			})
		}
	}
	all.Wait()
	for ip, n := range served {
		if n != each {
			t.Errorf("%s: %d of %d", ip, n, each)
		}
	}
	if s := a.Stats(); most > 16 || s.On != 0 || s.Waiting != 0 || s.GaveWay != 0 || len(a.hosts) != 0 || len(a.next) != 0 {
		t.Errorf("%d at once, left is %+v, %d hosts, %d in turn", most, s, len(a.hosts), len(a.next))
	}
}

// The queue is bounded, and it is the address with the most that pays.
func TestQueueIsBounded(t *testing.T) {
	a := arrivals(1, 1, time.Minute)
	enter(t, a, "192.0.2.9", nil)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	lost := make(chan error, maxWaiting()+10)
	for i := range maxWaiting() + 10 {
		ip := netip.AddrFrom4([4]byte{10, 0, 0, 1})
		if i == 5 {
			ip = netip.AddrFrom4([4]byte{10, 0, 0, 2})
		}
		all.Go(func() {
			_, err := a.Enter(ctx, ip, func(error) {})
			if errors.Is(err, ErrCrowded) && ip.As4()[3] == 2 {
				t.Error("the one of another address was refused")
			}
			lost <- err
		})
	}
	for range 10 {
		if err := <-lost; !errors.Is(err, ErrCrowded) {
			t.Errorf("%v", err)
		}
	}
	if s := a.Stats(); s.Waiting > maxWaiting() {
		t.Errorf("%d wait", s.Waiting)
	}
	cancel()
	all.Wait()
	if s := a.Stats(); s.Waiting != 0 || s.Refused != 10 {
		t.Errorf("left: %+v", s)
	}
}

// While no place becomes free, addresses whose connections have left, or were refused, take no memory.
func TestAddressesThatHaveLeftAreForgotten(t *testing.T) {
	a := arrivals(1, 0, time.Hour)
	place := enter(t, a, "192.0.2.9", nil)
	var first []*Arrival
	for i := range 3 * maxWaiting() {
		v := a.Come(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), nil, func(error) {})
		if i < 2 {
			first = append(first, v)
		} else {
			v.Leave()
		}
	}
	if len(a.hosts) > 100 || len(a.next) > 100 {
		t.Errorf("with 3 connections %d addresses are known, %d in the queue", len(a.hosts), len(a.next))
	}
	place.Leave()
	for _, v := range first {
		if err := v.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		v.Leave()
	}
	if len(a.hosts) > 0 {
		t.Errorf("%d addresses are left", len(a.hosts))
	}
}

// A place at once is within the limits too, of all places and of those of an address, and takes none from those that wait.
func TestPlacesAtOnce(t *testing.T) {
	a := arrivals(3, 2, time.Hour)
	try := func(ip string) *Arrival { return a.TryEnter(netip.MustParseAddr(ip), nil, func(error) {}) }
	first, second := try("192.0.2.1"), try("192.0.2.1")
	if first == nil || second == nil {
		t.Fatal("an address has two places")
	}
	if try("192.0.2.1") != nil {
		t.Error("a third place of an address that has two")
	}
	third := try("192.0.2.2")
	if third == nil || try("192.0.2.3") != nil {
		t.Error("there are three places")
	}
	waits := a.Come(netip.MustParseAddr("192.0.2.1"), nil, func(error) {})
	third.Leave()
	if try("192.0.2.3") != nil {
		t.Error("a place before one that waits")
	}
	waits.Leave()
	if third = try("192.0.2.3"); third == nil {
		t.Error("none waits any more")
	}
	for _, v := range []*Arrival{first, second, third} {
		v.Leave()
		v.Leave()
	}
	if s := a.Stats(); s.On != 0 || s.Waiting != 0 || len(a.hosts) != 0 {
		t.Errorf("left: %+v, %d hosts", s, len(a.hosts))
	}
	var free Arrivals
	if free.TryEnter(netip.MustParseAddr("192.0.2.1"), nil, func(error) {}) == nil {
		t.Error("without limits there is none")
	}
}

// A random history: no limit is ever exceeded, no connection is lost, nothing is
// left.
func TestArrivalsAtRandom(t *testing.T) {
	seed := sluicetest.Seed(t)
	a := arrivals(5, 2, time.Millisecond)
	var all sync.WaitGroup
	for w := range uint64(20) {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, w))
			for range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				if rnd.IntN(4) == 0 {
					time.AfterFunc(time.Duration(rnd.IntN(1000))*time.Microsecond, cancel)
				}
				ended := make(chan struct{}, 2)
				v, err := a.Enter(ctx, netip.AddrFrom4([4]byte{10, 0, 0, byte(rnd.IntN(4))}), func(error) { ended <- struct{}{} })
				if err == nil {
					a.mu.Lock()
					if h := a.hosts[v.host]; !v.left && (len(h.on) > 2 || a.on > 5) {
						t.Errorf("%d of one host, %d in all", len(h.on), a.on)
					}
					if !known(a) {
						t.Errorf("%d wait in %v", a.waiting, a.crowds)
					}
					a.mu.Unlock()
					if rnd.IntN(10) == 0 {
						select { // silent, until another connection needs the place
						case <-ended:
						case <-time.After(5 * time.Millisecond):
						}
					}
					v.Leave()
					if len(ended) > 1 {
						t.Error("ended twice")
					}
				}
				cancel()
			}
		})
	}
	all.Wait()
	if s := a.Stats(); s.On != 0 || s.Waiting != 0 || len(a.hosts) != 0 || len(a.crowds) != 0 {
		t.Errorf("left: %+v, %d hosts, %v", s, len(a.hosts), a.crowds)
	}
}

// known reports whether the hosts are found by how many of their connections wait. The lock is held.
func known(a *Arrivals) bool {
	hosts, waiting, most := 0, 0, 0
	for _, h := range a.hosts {
		if n := len(h.waiting); n > 0 {
			if n > len(a.crowds) || a.crowds[n-1][h.at] != h {
				return false
			}
			hosts, waiting, most = hosts+1, waiting+n, max(most, n)
		}
	}
	for _, same := range a.crowds {
		hosts -= len(same)
	}
	return hosts == 0 && waiting == a.waiting && most == len(a.crowds)
}

// When memory is short there are few places, and few wait for them.
func TestFewPlacesWhenMemoryIsShort(t *testing.T) {
	a := arrivals(32, 0, time.Minute)
	tight := false
	a.SetTight(func() bool { return tight })
	free := func() (n int) {
		var on []*Arrival
		for v := a.TryEnter(netip.MustParseAddr("192.0.2.1"), nil, nil); v != nil; v = a.TryEnter(netip.MustParseAddr("192.0.2.1"), nil, nil) {
			on = append(on, v)
		}
		for _, v := range on {
			v.Leave()
		}
		return len(on)
	}
	for _, c := range []struct {
		tight bool
		want  int
	}{{false, 32}, {true, 4}, {false, 32}} {
		tight = c.tight
		if n := free(); n != c.want {
			t.Errorf("memory is short %v: %d places", c.tight, n)
		}
	}
	tight = true
	for range 4 {
		enter(t, a, "192.0.2.1", func(error) {})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lost := make(chan error)
	for range maxWaiting()/tightPart + 1 {
		go func() {
			_, err := a.Enter(ctx, netip.MustParseAddr("192.0.2.1"), func(error) {})
			select {
			case lost <- err:
			case <-ctx.Done():
			}
		}()
	}
	if err := <-lost; !errors.Is(err, ErrCrowded) {
		t.Errorf("one too many: %v", err)
	}
}

// A connection that is refused for another one is ended by that, before a goroutine waits for it: the
// descriptors that a crowd can take do not depend on when goroutines get a processor.
func TestRefusedConnectionsEndAtOnce(t *testing.T) {
	a := arrivals(1, 0, time.Hour)
	a.SetTight(func() bool { return true })
	waiting := maxWaiting() / tightPart
	ended := 0
	count := func(err error) {
		if ended++; !errors.Is(err, ErrCrowded) {
			t.Errorf("ends with %v", err)
		}
	}
	var came []*Arrival
	for i := range waiting + 100 {
		came = append(came, a.Come(netip.MustParseAddr("192.0.2.1"), nil, count))
		if open := i + 1 - ended; open > 1+waiting {
			t.Fatalf("%d connections are open", open)
		}
	}
	if n := a.Stats(); ended != 99 || n.On != 1 || n.Waiting != waiting || n.Refused != 99 {
		t.Errorf("%d ended, %+v", ended, n)
	}
	for i, v := range came {
		if i == 0 || i > 99 {
			v.Leave()
		} else if err := v.Wait(t.Context()); !errors.Is(err, ErrCrowded) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if n := a.Stats(); n.On+n.Waiting != 0 {
		t.Errorf("%+v", n)
	}
}
