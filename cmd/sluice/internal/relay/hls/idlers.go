package hls

import (
	"container/list"
	"net/netip"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

// mostLookedAt bounds the viewers that one look for a place takes: they come as fast as requests.
const mostLookedAt = 512

// idlers are the viewers in the order in which they would give their places to others: a
// request makes a viewer, which costs its sender next to nothing. They are under the server's lock.
type idlers struct {
	fresh list.List            // of *viewer: those that have taken no media, the oldest first
	fed   list.List            // the others, the longest without media first
	hosts map[netip.Prefix]int // how many of fresh each has
}

// enter takes a new viewer.
func (x *idlers) enter(v *viewer) {
	v.since = time.Now()
	v.place = x.fresh.PushBack(v)
	x.hosts[access.HostOf(v.key.address)]++
}

// leave takes a viewer out.
func (x *idlers) leave(v *viewer) {
	switch {
	case v.place == nil:
		return
	case v.took:
		x.fed.Remove(v.place)
	default:
		x.fresh.Remove(v.place)
		host := access.HostOf(v.key.address)
		if x.hosts[host]--; x.hosts[host] == 0 {
			delete(x.hosts, host)
		}
	}
	v.place = nil
}

// took notes that a viewer that has a place took media.
func (x *idlers) took(v *viewer) {
	x.leave(v)
	v.took, v.since = true, time.Now()
	v.place = x.fed.PushBack(v)
}

// next returns the viewer of a stream, or of any for "", that others may have the place of: one without
// media for its time, which is idle at least, or one that has never taken any, in quiet. Of the oldest of these it is one of the
// address that has most, so that those of a flood go first. nil: there is none.
func (x *idlers) next(stream string, quiet, idle time.Duration) *viewer {
	looked := 0
	for e := x.fed.Front(); e != nil && looked < mostLookedAt; e = e.Next() {
		v := e.Value.(*viewer)
		if time.Since(v.since) <= idle {
			break // those behind it took some later
		}
		if v.idleFor(v.limit) && v.isOf(stream) {
			return v
		}
		looked++
	}
	var most *viewer
	looked = 0
	for e := x.fresh.Front(); e != nil && looked < mostLookedAt; e = e.Next() {
		v := e.Value.(*viewer)
		if time.Since(v.since) <= quiet {
			break // those behind it are younger
		}
		if v.idleFor(quiet) && v.isOf(stream) && (most == nil || x.hosts[access.HostOf(v.key.address)] > x.hosts[access.HostOf(most.key.address)]) {
			most = v
		}
		looked++
	}
	return most
}

func (v *viewer) isOf(stream string) bool { return stream == "" || v.key.stream == stream }

// idleFor reports whether v has taken no media for this time, and has no request under way.
func (v *viewer) idleFor(d time.Duration) bool { return time.Since(v.since) > d && v.busy.Load() == 0 }

// Yield ends a viewer of a stream, or of any for "", that is one by its requests only, and reports
// whether there was one: it is for access.Gate, when there is no room for another viewer. The place is
// free when Yield returns. One that asks on is admitted again, when there is room.
func (s *Server) Yield(stream string) bool {
	s.mu.Lock()
	v := s.idlers.next(stream, s.Times.Fresh, s.Times.Idle)
	if v == nil {
		s.mu.Unlock()
		return false
	}
	ended := v.stop(errNothingTaken)
	s.mu.Unlock()
	ended()
	return true
}
