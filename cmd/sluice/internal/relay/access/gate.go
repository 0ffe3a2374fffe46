package access

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Options are the rules. The zero value admits every request.
type Options struct {
	// Protect lists the actions that need a token.
	Protect []Action
	// Secret signs the tokens: at least MinSecret bytes when anything is
	// protected. It is copied.
	Secret []byte
	// Ask is asked about every request that the other rules admit; nil: nothing is.
	Ask Asker
	// Revoked are the ids of revoked tokens.
	Revoked []string
	// AllowPublish and AllowPlay are the networks that may publish and play;
	// empty allows all.
	AllowPublish, AllowPlay []netip.Prefix
	// MaxStreams bounds the streams that are published at once, MaxViewers all
	// who play, MaxViewersPerAddress those of one IPv4 address or one IPv6 /64.
	// MaxStreamsPerAddress bounds the streams that one such address publishes.
	// 0 is no limit.
	MaxStreams, MaxViewers, MaxViewersPerAddress, MaxStreamsPerAddress int
	// Now is the clock that tokens expire by; nil is time.Now.
	Now func() time.Time
}

// An Asker decides about requests that the other rules admit. Ask returns nil to
// admit, a Refused to refuse, and another error when it cannot decide, which
// refuses too. It is called by many goroutines at once, and must return when ctx
// is done.
type Asker interface {
	Ask(ctx context.Context, r *Request) error
}

// Refused is a refusal by an Asker: its reason, one line for the peer.
type Refused string

func (r Refused) Error() string { return string(r) }

// Gate admits and refuses requests. It is safe for concurrent use.
type Gate struct {
	rules  atomic.Pointer[rules]
	limits limits
	bans   bans
}

// rules are checked and prepared Options. They are immutable.
type rules struct {
	protect map[Action]bool
	secret  []byte
	revoked map[string]bool
	allow   map[Action]AllowList
	now     func() time.Time
	ask     Asker // nil: none
	maxima  maxima
}

// New makes a Gate, or says which option is wrong.
func New(o Options) (*Gate, error) {
	g := &Gate{limits: limits{publishes: map[string]int{}, publishers: map[publisher]int{}, hosts: map[netip.Prefix]int{}, addresses: map[netip.Prefix]int{}}}
	return g, g.Update(o)
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

func newRules(o Options) (*rules, error) {
	g := &rules{
		protect: map[Action]bool{},
		secret:  slices.Clone(o.Secret),
		revoked: map[string]bool{},
		allow:   map[Action]AllowList{},
		now:     o.Now,
		ask:     o.Ask,
		maxima:  maxima{streams: o.MaxStreams, viewers: o.MaxViewers, viewersPerAddress: o.MaxViewersPerAddress, streamsPerAddress: o.MaxStreamsPerAddress},
	}
	if g.now == nil {
		g.now = time.Now
	}
	for _, a := range o.Protect {
		if !a.valid() {
			return nil, fmt.Errorf("access: %q cannot be protected: it is neither publish nor play", a)
		}
		if err := CheckSecret(o.Secret); err != nil {
			return nil, err
		}
		g.protect[a] = true
	}
	for _, id := range o.Revoked {
		if err := CheckID(id); err != nil {
			return nil, err
		}
		g.revoked[id] = true
	}
	for _, c := range []struct {
		action Action
		list   []netip.Prefix
	}{{Publish, o.AllowPublish}, {Play, o.AllowPlay}} {
		list, err := NewAllowList(c.list)
		if err != nil {
			return nil, err
		}
		g.allow[c.action] = list
	}
	for _, n := range []int{o.MaxStreams, o.MaxViewers, o.MaxViewersPerAddress, o.MaxStreamsPerAddress} {
		if n < 0 {
			return nil, fmt.Errorf("access: a limit of %d; 0 is none", n)
		}
	}
	return g, nil
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
	rules := g.rules.Load()
	address := plain(r.Address.Addr())
	if list := rules.allow[r.Action]; len(list) > 0 && !list.Has(address) {
		return nil, refuse(r, "this address is not allowed", ErrAddress, nil)
	}
	token := ""
	if rules.protect[r.Action] {
		err := Verify(rules.secret, r.Action, r.Stream, r.token(), rules.now())
		token = TokenID(r.token())
		if err == nil && rules.revoked[token] {
			err = ErrTokenRevoked
		}
		if err != nil {
			return nil, refuse(r, tokenReason(err), err, nil)
		}
	}
	if b, ok := g.bans.find(&r, token, rules.now()); ok {
		return nil, refuse(r, "banned until "+b.Until.Format(time.RFC3339), ErrBanned, nil)
	}
	// The request counts meanwhile, so only requests within the limits are asked
	// about.
	if r.Action == Publish {
		release, err = g.publisher(r, host(address))
	} else {
		release, err = g.viewer(r, host(address))
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
	return release, nil
}

// Reserve counts a stream that is published without a Request, for example a pull
// from an origin, until release is called. It checks the limits only, and returns
// ErrLimit when one is reached.
func (g *Gate) Reserve(stream string) (release func(), err error) {
	return g.publisher(Request{Action: Publish, Stream: stream}, netip.Prefix{})
}

// Protected reports whether an action currently needs a token.
func (g *Gate) Protected(a Action) bool { return g.rules.Load().protect[a] }

// publisher counts a publisher. from is the zero value when it is not a peer.
func (g *Gate) publisher(r Request, from netip.Prefix) (release func(), err error) {
	if err := g.limits.takeStream(r.Stream, from); err != nil {
		return nil, refuse(r, err.Error(), ErrLimit, nil)
	}
	return once(func() { g.limits.dropStream(r.Stream, from) }), nil
}

func (g *Gate) viewer(r Request, from netip.Prefix) (release func(), err error) {
	if err := g.limits.takeViewer(from); err != nil {
		return nil, refuse(r, err.Error(), ErrLimit, nil)
	}
	return once(func() { g.limits.dropViewer(from) }), nil
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

// Expected returns the token that allows action on stream and begins with head: the
// token without its last part, which only the holder of the secret can make. It serves
// challenges that a peer answers without sending the token. It does not check the
// expiry: Admit does.
func (g *Gate) Expected(action Action, stream, head string) (token string, ok bool) {
	rules := g.rules.Load()
	id, until, named := strings.Cut(head, ".")
	if !named {
		id, until = "", head
	}
	seconds, err := strconv.ParseInt(until, 10, 64)
	if err != nil || seconds < 0 || strconv.FormatInt(seconds, 10) != until || len(rules.secret) == 0 || named && !validID(id) {
		return "", false
	}
	if named {
		return SignID(rules.secret, action, stream, id, time.Unix(seconds, 0)), true
	}
	return Sign(rules.secret, action, stream, time.Unix(seconds, 0)), true
}
