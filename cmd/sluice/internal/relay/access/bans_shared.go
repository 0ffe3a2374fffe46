package access

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"
)

// A BanList is what servers of a cluster tell one another of bans.
type BanList struct {
	Bans   []Ban                `json:"bans,omitempty"`
	Lifted map[string]time.Time `json:"lifted,omitempty"` // by id, with the time until which the ban would hold
	// Left is for how many ms each of both holds yet: clocks may be years apart. An earlier
	// version sends none and reads none: with it ends are compared by the clock.
	Left map[string]int64 `json:"left_ms,omitempty"`
}

// until returns when a ban ends by the clock here, of which the sender says when it ends by its own.
// It returns false for one that is over or would hold for longer than bans may.
func (l *BanList) until(id string, end, now time.Time) (time.Time, bool) {
	if left, ok := l.Left[id]; ok {
		if left < 1 || left > (MaxBan+time.Minute).Milliseconds() {
			return end, false
		}
		end = now.Add(time.Duration(left) * time.Millisecond)
	}
	return end, within(end, now)
}

// ShareBans makes the ids of bans those of one server of several: b1@name. Call it once,
// before the first request.
func (g *Gate) ShareBans(name string) {
	l := &g.bans
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = "@" + name
	// Without a file earlier starts have left bans with other servers: no id comes again.
	l.next = max(l.next, int(l.now().Unix()))
	for id, b := range maps.Clone(l.list) {
		if !strings.Contains(id, "@") {
			delete(l.list, id)
			b.ID += l.at
			l.list[b.ID] = b
		}
	}
}

// SharedBans returns the active bans, and those that were lifted before their time.
func (g *Gate) SharedBans() BanList {
	list := BanList{Bans: g.Bans()}
	g.bans.mu.Lock()
	defer g.bans.mu.Unlock()
	list.Lifted = maps.Clone(g.bans.lifted)
	now := g.bans.now()
	left := func(id string, until time.Time) { list.Left[id] = max(1, until.Sub(now).Milliseconds()) }
	list.Left = make(map[string]int64, len(list.Bans)+len(list.Lifted))
	for _, b := range list.Bans {
		left(b.ID, b.Until)
	}
	for id, until := range list.Lifted {
		left(id, until)
	}
	return list
}

// BansSum is equal for equal lists. It does not depend on their order.
func (g *Gate) BansSum() uint64 {
	list, sum := g.SharedBans(), uint64(0)
	add := func(kind, id string) {
		h := fnv.New64a()
		h.Write([]byte(kind))
		h.Write([]byte(id))
		sum += h.Sum64()
	}
	for _, b := range list.Bans {
		add("ban", b.ID)
	}
	for id := range list.Lifted {
		add("lifted", id)
	}
	return sum
}

// MergeBans takes over what another server has banned and lifted. It returns the bans
// that are new here. An error matches ErrBan, then what is wrong was left out, or
// ErrBansFile.
func (g *Gate) MergeBans(from BanList) (added []Ban, err error) {
	changed := false
	g.bans.mu.Lock()
	now := g.bans.now()
	g.bans.expire(now)
	for _, id := range slices.Sorted(maps.Keys(from.Lifted)) {
		until, holds := from.until(id, from.Lifted[id], now)
		if _, ok := g.bans.lifted[id]; ok || !holds || !validBanID(id) {
			continue
		}
		_, there := g.bans.list[id]
		if !g.bans.lift(id, until) {
			err = fmt.Errorf("%w: %d were lifted, which is the limit", ErrBan, maxBans)
		}
		changed = changed || there // what was lifted is not in the file
	}
	for _, b := range from.Bans {
		_, there := g.bans.list[b.ID]
		_, lifted := g.bans.lifted[b.ID]
		until, holds := from.until(b.ID, b.Until, now)
		if there || lifted || !holds {
			continue
		}
		b.Since, b.Until = until.Add(-b.Until.Sub(b.Since)), until
		wrong := b.check()
		switch {
		case wrong == nil && !validBanID(b.ID):
			wrong = fmt.Errorf("%w: the id is %.40q", ErrBan, b.ID)
		case wrong == nil && len(g.bans.list) >= maxBans:
			wrong = fmt.Errorf("%w: there are %d already, which is the limit", ErrBan, maxBans)
		}
		if wrong != nil {
			err = cmp.Or(err, wrong)
			continue
		}
		if g.bans.list == nil {
			g.bans.list = map[string]Ban{}
		}
		g.bans.list[b.ID] = b
		added, changed = append(added, b), true
	}
	g.bans.mu.Unlock()
	if changed {
		err = cmp.Or(g.bans.save(), err)
	}
	return added, err
}

// within reports whether a ban may hold until then: clocks may be apart a little.
func within(until, now time.Time) bool {
	return until.After(now) && until.Before(now.Add(MaxBan+time.Minute))
}

func validBanID(id string) bool {
	_, ok := banNumber(id)
	return ok && strings.Contains(id, "@")
}
