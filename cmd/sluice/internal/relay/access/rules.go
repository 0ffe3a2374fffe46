package access

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Options are the rules. The zero value admits every request.
type Options struct {
	// Protect lists the actions that need a token.
	Protect []Action
	// Secret signs the tokens: at least MinSecret bytes when anything is
	// protected. It is copied.
	Secret []byte
	// Accept is another secret by which tokens hold, while that is changed. It is copied;
	// empty is none.
	Accept []byte
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
	// returns the secrets, the revoked tokens and the other limits do not count.
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

// Rules are checked and prepared Options. They are immutable.
type Rules struct {
	protect map[Action]bool
	secrets [][]byte // the first one signs
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

func newRules(o Options) (*Rules, error) {
	g := &Rules{
		protect: map[Action]bool{},
		secrets: [][]byte{slices.Clone(o.Secret)},
		revoked: map[string]bool{},
		allow:   map[Action]AllowList{},
		now:     o.Now,
		ask:     o.Ask,
		of:      o.For,
		viewers: o.MaxViewersPerStream,
		maxima:  maxima{streams: o.MaxStreams, viewers: o.MaxViewers, viewersPerAddress: o.MaxViewersPerAddress, streamsPerAddress: o.MaxStreamsPerAddress},
	}
	if len(o.Accept) > 0 {
		if err := CheckSecret(o.Accept); err != nil {
			return nil, err
		}
		g.secrets = append(g.secrets, slices.Clone(o.Accept))
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

// verify is Verify with each of the secrets.
func (r *Rules) verify(action Action, stream, token string) (err error) {
	for _, secret := range r.secrets {
		if err = Verify(secret, action, stream, token, r.now()); err != ErrTokenWrong {
			return err
		}
	}
	return err
}

// forStream returns the rules of a stream.
func (r *Rules) forStream(stream string) *Rules {
	if r.of != nil {
		if other := r.of(stream); other != nil {
			return other
		}
	}
	return r
}
