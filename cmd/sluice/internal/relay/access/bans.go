package access

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// BanBy is what a ban matches.
type BanBy string

// The kinds of ban.
const (
	BanAddress BanBy = "address" // of the peer: an IPv4 address or an IPv6 /64
	BanStream  BanBy = "stream"  // one action on one stream, from any peer
	BanToken   BanBy = "token"   // the id of a token
)

// A Ban refuses requests until its time is over.
type Ban struct {
	ID     string    `json:"id"`
	By     BanBy     `json:"by"`
	Value  string    `json:"value"`            // address or network, stream, or id of a token
	Action Action    `json:"action,omitempty"` // for BanStream
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`

	network netip.Prefix // the value of BanAddress
}

const (
	// maxBans bounds the list: bans are for people to look through.
	maxBans = 10_000
	// MaxBan is the longest ban. Permanent rules belong in the configuration:
	// allow lists, revoked tokens.
	MaxBan = 30 * 24 * time.Hour
)

// ErrBan means that a ban is invalid.
var ErrBan = errors.New("access: no such ban")

// bans are the active bans. It is safe for concurrent use.
type bans struct {
	mu    sync.Mutex
	clock banClock
	next  int
	list  map[string]Ban // by id
	file  bansFile

	at     string               // behind the number in ids; empty: they are not shared
	lifted map[string]time.Time // shared ones that do not hold any more, with their Until
}

// bansFile is where bans are kept. Every change replaces the file as a whole, so
// that it is never half written.
type bansFile struct {
	mu     sync.Mutex // one writer at a time; it waits for the disk, unlike bans.mu
	name   string     // empty: bans end with the gate
	behind bool       // the latest change is not in it
}

// now returns the time. When the clock was set, it moves the bans with it. The lock is held.
func (l *bans) now() time.Time {
	now, by := l.clock.step()
	if by == 0 {
		return now
	}
	for id, b := range l.list {
		b.Since, b.Until = b.Since.Add(by), b.Until.Add(by)
		l.list[id] = b
	}
	for id, until := range l.lifted {
		l.lifted[id] = until.Add(by)
	}
	return now
}

// check checks what a ban matches, and brings it into its usual form.
func (b *Ban) check() (err error) {
	switch b.By {
	case BanAddress:
		if b.network, err = banned(b.Value); err != nil {
			return err
		}
		b.Value, b.Action = b.network.String(), ""
	case BanStream:
		if b.Value == "" || !b.Action.valid() {
			return fmt.Errorf("%w: of a stream it takes a name and an action, publish or play", ErrBan)
		}
	case BanToken:
		if !validID(b.Value) {
			return fmt.Errorf("%w: %.40q is not the id of a token", ErrBan, b.Value)
		}
		b.Action = ""
	default:
		return fmt.Errorf("%w: by %.40q; there are address, stream and token", ErrBan, b.By)
	}
	return nil
}

// banned parses an address, whose network it returns as limits count it, or a
// network.
func banned(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return HostOf(a), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%w: %.60q is neither an address nor a network", ErrBan, text)
	}
	list, err := NewAllowList([]netip.Prefix{p}) // IPv4 in its own form
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%w: %w", ErrBan, err)
	}
	return list[0], nil
}

func (l *bans) add(b Ban, within time.Duration) (Ban, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.expire(now)
	b.Since, b.Until = now, now.Add(within)
	if len(l.list) >= maxBans {
		return Ban{}, fmt.Errorf("%w: there are %d already, which is the limit", ErrBan, maxBans)
	}
	if l.list == nil {
		l.list = map[string]Ban{}
	}
	l.next++
	b.ID = "b" + strconv.Itoa(l.next) + l.at
	l.list[b.ID] = b
	return b, nil
}

// expire removes the bans that have ended. The lock is held.
func (l *bans) expire(now time.Time) {
	for id, b := range l.list {
		if !now.Before(b.Until) {
			delete(l.list, id)
		}
	}
	for id, until := range l.lifted {
		if !now.Before(until) {
			delete(l.lifted, id)
		}
	}
}

// sorted returns all bans, the oldest first. The lock is held.
func (l *bans) sorted() []Ban {
	list := make([]Ban, 0, len(l.list))
	for _, b := range l.list {
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b Ban) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Matches reports whether a ban applies to such a request. token is the id of its
// token, empty for none.
func (b Ban) Matches(action Action, stream string, address netip.Addr, token string) bool {
	switch b.By {
	case BanStream:
		return b.Action == action && b.Value == stream
	case BanToken:
		return b.Value == token
	}
	return b.network.Contains(plain(address))
}

// bounded returns a ban that was saved, for a clock that was set back since: it holds no longer
// from now than it was to hold in all.
func (b Ban) bounded(now time.Time) Ban {
	if b.Since.After(now) {
		b.Since, b.Until = now, now.Add(min(max(b.Until.Sub(b.Since), 0), MaxBan))
	}
	return b
}

// find returns a ban that matches a request.
func (l *bans) find(r *Request, token string) (Ban, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return Ban{}, false
	}
	now := l.now()
	for _, b := range l.list {
		if now.Before(b.Until) && b.Matches(r.Action, r.Stream, r.Address.Addr(), token) {
			return b, true
		}
	}
	return Ban{}, false
}

// banNumber returns the number in an id, b1 or b1@name.
func banNumber(id string) (int, bool) {
	number, name, shared := strings.Cut(id, "@")
	n, err := strconv.Atoi(number[min(1, len(number)):])
	if err != nil || n < 1 || number != "b"+strconv.Itoa(n) || shared && name == "" || len(id) > 100 {
		return 0, false
	}
	return n, true
}

// lift ends a ban, and keeps in mind that it was lifted. It returns false when there is
// no room for that. The lock is held.
func (l *bans) lift(id string, until time.Time) bool {
	delete(l.list, id)
	if len(l.lifted) >= maxBans {
		return false
	}
	if l.lifted == nil {
		l.lifted = map[string]time.Time{}
	}
	l.lifted[id] = until
	return true
}
