package access

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Gate admits and refuses requests. It is safe for concurrent use.
type Gate struct {
	rules  atomic.Pointer[Rules]
	limits limits
	bans   bans
	yield  func(stream string) bool
}

// Yields sets what is asked for a place when the limit of viewers, or of those of a stream, is reached: it
// ends a viewer that takes nothing, of that stream or, for "", of any, and reports whether it
// has released one. Call it before the first Admit, which calls it.
func (g *Gate) Yields(to func(stream string) bool) { g.yield = to }

// New makes a Gate, or says which option is wrong.
func New(o Options) (*Gate, error) {
	g := &Gate{limits: limits{publishes: map[string]int{}, publishers: map[publisher]int{}, hosts: map[netip.Prefix]int{}, addresses: map[netip.Prefix]int{}, watched: map[string]int{}}}
	if err := g.Update(o); err != nil {
		return nil, err
	}
	g.bans.clock = newBanClock(o)
	return g, nil
}

// Update replaces the rules for new requests. Admitted sessions stay, and still
// count. After an error nothing has changed.
func (g *Gate) Update(o Options) error {
	r, err := newRules(o)
	if err != nil {
		return err
	}
	g.rules.Store(r)
	g.limits.change(r.maxima)
	return nil
}

// Admit checks r against the rules: allow list, token, limits, Ask. An admitted
// request counts until release is called; release may be called more than once
// and by any goroutine. Otherwise the error is an *Error and nothing counts.
//
// It waits only for the Asker, and no longer than ctx. An invalid action panics.
func (g *Gate) Admit(ctx context.Context, r Request) (release func(), err error) {
	if !r.Action.valid() {
		panic(fmt.Sprintf("access: Admit of action %q", r.Action))
	}
	all := g.rules.Load()
	rules := all.forStream(r.Stream)
	address := plain(r.Address.Addr())
	if list := rules.allow[r.Action]; len(list) > 0 && !list.Has(address) {
		return nil, refuse(r, "this address is not allowed", ErrAddress, nil)
	}
	token := ""
	if rules.protect[r.Action] {
		err := all.verify(r.Action, r.Stream, r.token())
		token = TokenID(r.token())
		if err == nil && all.revoked[token] {
			err = ErrTokenRevoked
		}
		if err != nil {
			return nil, refuse(r, tokenReason(err), err, nil)
		}
	}
	if err := g.Banned(r, token); err != nil {
		return nil, err
	}
	// The request counts meanwhile, so only requests within the limits are asked
	// about.
	if r.Action == Publish {
		release, err = g.publisher(r, HostOf(address))
	} else {
		release, err = g.viewer(r, HostOf(address), rules.viewers)
	}
	if err != nil || rules.ask == nil {
		return release, err
	}
	if err := rules.ask.Ask(ctx, &r); err != nil {
		release()
		var no Refused
		if errors.As(err, &no) {
			return nil, refuse(r, string(no), ErrDenied, nil)
		}
		return nil, refuse(r, "the server cannot decide at the moment", ErrHook, err)
	}
	// Again, for a ban that came meanwhile.
	if err := g.Banned(r, token); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// Banned returns the error of Admit for a request that a ban matches, nil when none does.
// token is the id of its token, empty for none. A session that is entered where bans look
// for those that they match, and asks this then, is missed by none.
func (g *Gate) Banned(r Request, token string) error {
	if b, ok := g.bans.find(&r, token); ok {
		return refuse(r, "banned until "+b.Until.Format(time.RFC3339), ErrBanned, nil)
	}
	return nil
}

// Reserve counts a stream that is published without a Request, for example a pull
// from an origin, until release is called. It checks the limits only, and returns
// ErrLimit when one is reached.
func (g *Gate) Reserve(stream string) (release func(), err error) {
	return g.publisher(Request{Action: Publish, Stream: stream}, netip.Prefix{})
}

// Waits reports whether Admit may wait, for an Asker.
func (g *Gate) Waits() bool { return g.rules.Load().ask != nil }

// Protected reports whether an action on a stream currently needs a token.
func (g *Gate) Protected(a Action, stream string) bool {
	return g.rules.Load().forStream(stream).protect[a]
}

// publisher counts a publisher. from is the zero value when it is not a peer.
func (g *Gate) publisher(r Request, from netip.Prefix) (release func(), err error) {
	err = descriptorsLeft(2 * reserve) // more than for viewers: those that there are need it
	if err == nil {
		err = g.limits.takeStream(r.Stream, from)
	}
	if err != nil {
		return nil, refuse(r, err.Error(), ErrLimit, nil)
	}
	return once(func() { g.limits.dropStream(r.Stream, from) }), nil
}

func (g *Gate) viewer(r Request, from netip.Prefix, most int) (release func(), err error) {
	err = descriptorsLeft(reserve)
	if err == nil {
		err = g.limits.takeViewer(r.Stream, from, most)
	}
	if f, ok := err.(full); ok && f.yields && g.yield != nil {
		of := ""
		if f.stream {
			of = r.Stream
		}
		if g.yield(of) {
			err = g.limits.takeViewer(r.Stream, from, most)
		}
	}
	if err != nil {
		return nil, refuse(r, err.Error(), ErrLimit, nil)
	}
	stream := r.Stream // the viewer must not keep r, with its query
	return once(func() { g.limits.dropViewer(stream, from) }), nil
}

// once returns a function that calls f the first time and does nothing after
// that.
func once(f func()) func() {
	var done atomic.Bool
	return func() {
		if done.CompareAndSwap(false, true) {
			f()
		}
	}
}

func refuse(r Request, reason string, kind, cause error) error {
	return &Error{Action: r.Action, Stream: r.Stream, Reason: reason, Err: kind, Cause: cause}
}

func tokenReason(err error) string {
	switch err {
	case ErrTokenMissing:
		return "a token is needed: ?token=..."
	case ErrTokenExpired:
		return "the token has expired"
	case ErrTokenRevoked:
		return "the token has been revoked"
	}
	return "the token is not valid for this stream"
}

// Usage holds the current counts of the limits.
type Usage struct {
	Streams    int
	Viewers    int
	Addresses  int // that viewers come from
	Publishers int // addresses that publishers come from
}

// Usage returns the current counts.
func (g *Gate) Usage() Usage {
	g.limits.mu.Lock()
	defer g.limits.mu.Unlock()
	return Usage{Streams: len(g.limits.publishes), Viewers: g.limits.viewers, Addresses: len(g.limits.addresses), Publishers: len(g.limits.hosts)}
}

// Expected returns the tokens, one for each secret, that allow action on stream and begin
// with head: a token without its last part, which only the holder of the secret can make. It serves
// challenges that a peer answers without sending the token. It does not check the
// expiry: Admit does.
func (g *Gate) Expected(action Action, stream, head string) (tokens []string) {
	rules := g.rules.Load()
	id, until, named := strings.Cut(head, ".")
	if !named {
		id, until = "", head
	}
	seconds, err := strconv.ParseInt(until, 10, 64)
	if err != nil || seconds < 0 || strconv.FormatInt(seconds, 10) != until || len(rules.secrets[0]) == 0 || named && !validID(id) {
		return nil
	}
	for _, secret := range rules.secrets {
		if named {
			tokens = append(tokens, SignID(secret, action, stream, id, time.Unix(seconds, 0)))
		} else {
			tokens = append(tokens, Sign(secret, action, stream, time.Unix(seconds, 0)))
		}
	}
	return tokens
}
