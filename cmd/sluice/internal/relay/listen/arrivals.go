package listen

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

// Reasons why a connection is not served, for errors.Is.
var (
	// ErrCrowded: too many connections from its address wait already.
	ErrCrowded = errors.New("listen: too many connections wait for their handshake")
	// ErrGaveWay: it said nothing while others waited.
	ErrGaveWay = errors.New("listen: silent while others waited")
)

const (
	// quiet is how long a connection may hold a place without progress in its
	// handshake, while others wait. A round trip to the other side of the world
	// takes 0.3 s.
	quiet = time.Second
	// mostWaiting bounds the connections that wait: each costs a goroutine.
	mostWaiting = 16 << 10
)

// ofDescriptors is how many connections may have a place with one of the servers, and as many may wait: without
// a descriptor no listener can accept, and those that are silent are not seen to keep others out. RTMP, HTTP and
// RTSP together leave a quarter of the process's.
var ofDescriptors = sync.OnceValue(func() int {
	if n := access.Descriptors(); n > 0 {
		return max(n/8, 1)
	}
	return math.MaxInt
})

func maxWaiting() int { return min(ofDescriptors(), mostWaiting) }

// Arrivals limits the connections that have not made a request yet: how many have
// a place at a time, in all and from one address. Others wait, and get places
// round-robin by address. A connection without progress loses its place when
// others wait for it, the oldest first. The zero value has no limits. Arrivals is
// safe for concurrent use.
type Arrivals struct {
	mu       sync.Mutex
	places   int // 0: no limit
	share    int
	hosts    map[netip.Prefix]*arriving
	on       int
	waiting  int
	crowds   crowds
	next     []netip.Prefix // hosts with waiting connections, in the order to serve them
	timer    *time.Timer    // of look; nil before the first connection that waits
	due      time.Time      // when it fires, while connections wait; zero: it is stopped
	gaveWay  int64
	refused  int64
	now      func() time.Time // nil: time.Now
	quietFor time.Duration    // 0: quiet
	tight    func() bool      // nil: never
	report   func(ArrivalStats, netip.Prefix)
	reported time.Time
}

// arriving are the connections of one host.
type arriving struct {
	on      []*Arrival // the oldest first
	waiting []*Arrival // changed by sets
	at      int        // in crowds
	queued  bool       // it is in next
}

// An Arrival is one connection on its way to a request.
type Arrival struct {
	arrivals *Arrivals
	host     netip.Prefix
	end      func(error)   // ends the connection; must not wait
	admitted chan struct{} // closed when it has a place
	lost     error         // why it gets no place; then admitted is closed, too
	ends     bool          // also when it is refused
	since    time.Time     // of its latest progress
	conn     net.Conn      // what passes there is progress too; nil: it is not asked
	acked    int64         // of what was sent to it, when that was looked at
	left     bool
}

// ArrivalStats are figures of Arrivals.
type ArrivalStats struct {
	On, Waiting      int
	GaveWay, Refused int64 // in all
}

// Limit sets how many connections may have a place, in all and from one host, 0 for no
// limit but that of the process's descriptors.
func (a *Arrivals) Limit(places, share int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.places, a.share = places, share
	a.admit()
}

// SetQuiet sets how long a connection may hold a place without progress while others
// wait; 0 is the usual time.
func (a *Arrivals) SetQuiet(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.quietFor = d
	a.rest()
	a.admit()
}

// SetTight sets what says that memory or descriptors are short: then there are few places, and
// few wait. Call it before the first Enter.
func (a *Arrivals) SetTight(tight func() bool) { a.tight = tight }

// reportEvery is the least time between two calls of what Report has set.
const reportEvery = 10 * time.Second

// Report sets what is called, at most each 10 s, when connections have lost their places to others that
// waited: with the figures, and the host that then has most of the places and of those that wait. It must
// not wait. Call it before the first Enter.
func (a *Arrivals) Report(f func(ArrivalStats, netip.Prefix)) { a.report = f }

// tells calls what Report has set, if it is time. The lock is held.
func (a *Arrivals) tells(now time.Time) {
	if a.report == nil || now.Sub(a.reported) < reportEvery {
		return
	}
	a.reported = now
	var most netip.Prefix
	n := 0
	for host, h := range a.hosts {
		if k := len(h.on) + len(h.waiting); k > n {
			most, n = host, k
		}
	}
	a.report(ArrivalStats{a.on, a.waiting, a.gaveWay, a.refused}, most)
}

// Tight reports whether memory or descriptors are short.
func (a *Arrivals) Tight() bool { return a.tight != nil && a.tight() }

// tightPart is the part of the places, and of those that wait, for which there is memory, or are
// descriptors, when these are short.
const tightPart = 8

// most is how many may have a place, 0 for no limit, and wait.
func (a *Arrivals) most() (places, waiting int) {
	places, waiting = a.places, maxWaiting()
	if places == 0 || places > ofDescriptors() {
		if places = ofDescriptors(); places == math.MaxInt {
			places = 0
		}
	}
	if a.Tight() {
		waiting /= tightPart
		if places > 0 {
			places = max(places/tightPart, 1)
		}
	}
	return places, waiting
}

// Stats returns the figures at this moment.
func (a *Arrivals) Stats() ArrivalStats {
	a.mu.Lock()
	defer a.mu.Unlock()
	return ArrivalStats{a.on, a.waiting, a.gaveWay, a.refused}
}

// Enter waits for a place for a connection from an address, until ctx is done.
// end ends the connection when it has to give way; it is called by another
// goroutine and must not wait. After Enter without an error the caller must call
// Leave.
func (a *Arrivals) Enter(ctx context.Context, address netip.Addr, end func(error)) (*Arrival, error) {
	v := a.arrival(address, nil, end)
	a.come(v)
	return v, v.Wait(ctx)
}

// Come is what Enter does before it waits: an accepted connection counts before the next one is
// accepted, and not only when a goroutine of its own gets a processor. One that is refused while it
// waits is ended, too, so that its descriptor is free at once. It is not silent while conn has bytes
// that were not read, nor when it was sent something. The caller must call Wait or Leave.
func (a *Arrivals) Come(address netip.Addr, conn net.Conn, end func(error)) *Arrival {
	v := a.arrival(address, conn, end)
	v.ends = true
	for _, v := range a.come(v) {
		if v.ends {
			v.end(ErrCrowded)
		}
	}
	return v
}

func (a *Arrivals) arrival(address netip.Addr, conn net.Conn, end func(error)) *Arrival {
	return &Arrival{arrivals: a, host: access.HostOf(address), conn: conn, end: end, admitted: make(chan struct{})}
}

// come lets v wait for a place, and returns those that are refused for it.
func (a *Arrivals) come(v *Arrival) (refused []*Arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hosts == nil {
		a.hosts = map[netip.Prefix]*arriving{}
	}
	h := a.hosts[v.host]
	if h == nil {
		h = &arriving{}
		a.hosts[v.host] = h
	}
	if !h.queued {
		h.queued = true
		a.next = append(a.next, v.host)
	}
	a.sets(h, append(h.waiting, v))
	for _, most := a.most(); a.waiting > most; {
		refused = append(refused, a.refuse())
	}
	if len(a.next) > 2*a.waiting+16 {
		a.tidy()
	}
	a.admit()
	return refused
}

// tidy takes the hosts out of next of which no connection waits any more: admit does so only while places
// become free. The lock is held.
func (a *Arrivals) tidy() {
	a.next = slices.DeleteFunc(a.next, func(host netip.Prefix) bool {
		h := a.hosts[host]
		if h.queued = len(h.waiting) > 0; !h.queued {
			a.forget(host)
		}
		return !h.queued
	})
}

// Wait waits for the place of a connection that has come, until ctx is done. After Wait without an
// error the caller must call Leave.
func (v *Arrival) Wait(ctx context.Context) error {
	select {
	case <-v.admitted:
		return v.lost
	case <-ctx.Done():
		v.Leave()
		return ctx.Err()
	}
}

// TryEnter returns a place for a connection from an address, or nil when there is
// none free or other connections wait. The caller must call Leave.
func (a *Arrivals) TryEnter(address netip.Addr, conn net.Conn, end func(error)) *Arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	v := &Arrival{arrivals: a, host: access.HostOf(address), conn: conn, end: end, since: a.clock()}
	h := a.hosts[v.host]
	switch places, _ := a.most(); {
	case a.waiting > 0, places > 0 && a.on >= places, h != nil && a.share > 0 && len(h.on) >= a.share:
		return nil
	case h == nil:
		if a.hosts == nil {
			a.hosts = map[netip.Prefix]*arriving{}
		}
		h = &arriving{}
		a.hosts[v.host] = h
	}
	a.on++
	h.on = append(h.on, v)
	return v
}

// refuse drops the oldest waiting connection of the host that has the most, and returns
// it. The lock is held.
func (a *Arrivals) refuse() *Arrival {
	most := a.crowds.largest()
	v := most.waiting[0]
	a.sets(most, most.waiting[1:])
	a.refused++
	v.lost, v.left = ErrCrowded, true
	close(v.admitted)
	return v
}

// admit gives places to waiting connections, one host after the other, and makes
// room when there is none. The lock is held.
func (a *Arrivals) admit() {
	places, _ := a.most()
	for misses := 0; misses < len(a.next) && (places == 0 || a.on < places); {
		host := a.next[0]
		a.next = a.next[1:]
		h := a.hosts[host]
		switch {
		case len(h.waiting) == 0:
			h.queued = false
			a.forget(host)
			continue
		case a.share > 0 && len(h.on) >= a.share:
			a.next = append(a.next, host)
			misses++
			continue
		}
		misses = 0
		v := h.waiting[0]
		a.sets(h, h.waiting[1:])
		a.on++
		v.since = a.clock()
		h.on = append(h.on, v)
		close(v.admitted)
		if h.queued = len(h.waiting) > 0; h.queued {
			a.next = append(a.next, host)
		}
	}
	switch {
	case a.waiting == 0:
		a.rest()
	case a.due.IsZero():
		wait := a.quietTime() / 4
		a.due = a.clock().Add(wait)
		if a.timer == nil {
			a.timer = time.AfterFunc(wait, a.look)
		} else {
			a.timer.Reset(wait)
		}
	}
}

// rest stops the timer. The lock is held.
func (a *Arrivals) rest() {
	if !a.due.IsZero() {
		a.timer.Stop()
		a.due = time.Time{}
	}
}

func (a *Arrivals) clock() time.Time {
	if a.now != nil {
		return a.now()
	}
	return time.Now()
}

func (a *Arrivals) quietTime() time.Duration { return cmp.Or(a.quietFor, quiet) }

// look takes places that others wait for from connections without progress.
func (a *Arrivals) look() {
	now := a.clock()
	runtime.Gosched() // those that have read something, and lost the processor, go on
	a.mu.Lock()
	if a.due.IsZero() || now.Before(a.due) { // it had fired when it was stopped
		a.mu.Unlock()
		return
	}
	if late := now.Sub(a.due); late >= a.quietTime()/4 {
		a.excuse(late)
	}
	a.due = time.Time{}
	var gone []*Arrival
	// Free no more places than the waiting connections can use: within a host's
	// share for that host, and within all places for every host.
	for host, h := range a.hosts {
		if len(h.waiting) == 0 || a.share == 0 || len(h.on) < a.share {
			continue
		}
		gone = append(gone, a.silent(map[netip.Prefix]*arriving{host: h}, len(h.waiting), now)...)
	}
	if places, _ := a.most(); places > 0 && a.on >= places {
		gone = append(gone, a.silent(a.hosts, a.waiting, now)...)
	}
	a.gaveWay += int64(len(gone))
	if len(gone) > 0 {
		a.tells(now)
	}
	a.admit()
	a.mu.Unlock()
	for _, v := range gone {
		v.end(ErrGaveWay)
	}
}

// excuse does not count a time in which this process stood still: what connections sent
// meanwhile was not read. The lock is held.
func (a *Arrivals) excuse(d time.Duration) {
	for _, h := range a.hosts {
		for _, v := range h.on {
			v.since = v.since.Add(d)
		}
	}
}

// silent takes the places of up to n connections without progress, the oldest
// first, and returns them. The lock is held.
func (a *Arrivals) silent(hosts map[netip.Prefix]*arriving, n int, now time.Time) []*Arrival {
	var list []*Arrival
	for _, h := range hosts {
		for _, v := range h.on {
			switch {
			case now.Sub(v.since) < a.quietTime():
			case v.served():
				v.since = now
			default:
				list = append(list, v)
			}
		}
	}
	slices.SortFunc(list, func(v, w *Arrival) int { return v.since.Compare(w.since) })
	list = list[:min(n, len(list))]
	for _, v := range list {
		a.drop(v)
	}
	return list
}

// served reports whether it was this process, and not the peer, that was waited for since the
// latest look: what the peer has sent was not read, or it has been answered. The lock is held.
func (v *Arrival) served() bool {
	if v.conn == nil {
		return false
	}
	unread, _, acked := passed(v.conn)
	before := v.acked
	v.acked = acked
	return unread > 0 || acked > before
}

// Progress records that the connection has made progress in its handshake.
func (v *Arrival) Progress() {
	a := v.arrivals
	a.mu.Lock()
	defer a.mu.Unlock()
	v.since = a.clock()
}

// Leave gives the place back: the request has come, or the connection has ended.
// It may be called more than once.
func (v *Arrival) Leave() {
	a := v.arrivals
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(v)
	a.admit()
}

// drop removes v, whether it has a place or waits. The lock is held.
func (a *Arrivals) drop(v *Arrival) {
	if v.left {
		return
	}
	v.left = true
	h := a.hosts[v.host]
	if i := slices.Index(h.on, v); i >= 0 {
		h.on = slices.Delete(h.on, i, i+1)
		a.on--
	} else if i := slices.Index(h.waiting, v); i >= 0 {
		a.sets(h, slices.Delete(h.waiting, i, i+1))
	}
	a.forget(v.host)
}

// forget removes a host without connections, unless it is still in next. The lock
// is held.
func (a *Arrivals) forget(host netip.Prefix) {
	if h := a.hosts[host]; h != nil && len(h.on)+len(h.waiting) == 0 && !h.queued {
		delete(a.hosts, host)
	}
}
