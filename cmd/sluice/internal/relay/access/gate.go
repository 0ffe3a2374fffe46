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
	// MaxViewersPerStream bounds those who play one stream. 0 is no limit.
	MaxViewersPerStream int
	// For returns the rules of a stream, nil for these; For itself may be nil. Of what it
	// returns the secret, the revoked tokens and the other limits do not count.
	For func(stream string) *Rules
	// Now is the clock that tokens expire by; nil is time.Now.
	Now func() time.Time
	// Elapsed is the time that bans hold by, since any moment: setting the clock does not
	// change it. nil is what has passed by Now, whose monotonic clock counts.
	Elapsed func() time.Duration
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
	rules  atomic.Pointer[Rules]
	limits limits
	bans   bans
}

// Rules are checked and prepared Options. They are immutable.
type Rules struct {
	protect map[Action]bool
	secret  []byte
	revoked map[string]bool
	allow   map[Action]AllowList
	now     func() time.Time
	ask     Asker // nil: none
	maxima  maxima
	viewers int // of one stream; 0: any number
	of      func(stream string) *Rules
}

// Compile checks Options for Options.For, or says which is wrong.
func Compile(o Options) (*Rules, error) { return newRules(o) }

// forStream returns the rules of a stream.
func (r *Rules) forStream(stream string) *Rules {
	if r.of != nil {
		if other := r.of(stream); other != nil {
			return other
		}
	}
	return r
}

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

func newRules(o Options) (*Rules, error) {
	g := &Rules{
		protect: map[Action]bool{},
		secret:  slices.Clone(o.Secret),
		revoked: map[string]bool{},
		allow:   map[Action]AllowList{},
		now:     o.Now,
		ask:     o.Ask,
		of:      o.For,
		viewers: o.MaxViewersPerStream,
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
	for _, n := range []int{o.MaxStreams, o.MaxViewers, o.MaxViewersPerAddress, o.MaxStreamsPerAddress, o.MaxViewersPerStream} {
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
	all := g.rules.Load()
	rules := all.forStream(r.Stream)
	address := plain(r.Address.Addr())
	if list := rules.allow[r.Action]; len(list) > 0 && !list.Has(address) {
		return nil, refuse(r, "this address is not allowed", ErrAddress, nil)
	}
	token := ""
	if rules.protect[r.Action] {
		err := Verify(all.secret, r.Action, r.Stream, r.token(), all.now())
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
		release, err = g.publisher(r, host(address))
	} else {
		release, err = g.viewer(r, host(address), rules.viewers)
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
	if err := g.limits.takeStream(r.Stream, from); err != nil {
		return nil, refuse(r, err.Error(), ErrLimit, nil)
	}
	return once(func() { g.limits.dropStream(r.Stream, from) }), nil
}

func (g *Gate) viewer(r Request, from netip.Prefix, most int) (release func(), err error) {
	if err := g.limits.takeViewer(r.Stream, from, most); err != nil {
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
