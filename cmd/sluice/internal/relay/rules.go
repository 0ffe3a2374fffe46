package relay

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
)

// trusted are the networks of trusted proxies.
func trusted(c *config.Config) ([]netip.Prefix, error) {
	return access.ParseAllow(strings.Join(c.TrustedProxies, ","))
}

// ruleSet are the rules of the gate for one configuration. It has to be closed when they
// hold no longer.
type ruleSet struct {
	config *config.Config
	ask    hooks.AdmissionOptions
	log    *slog.Logger

	mu       sync.Mutex
	hooks    map[string]*hooks.Admission // by URL
	compiled map[*config.Config]*access.Rules
}

// newRules makes the rules for a configuration, of which it checks every part.
func newRules(c *config.Config, ask hooks.AdmissionOptions, log *slog.Logger) (*ruleSet, access.Options, error) {
	r := &ruleSet{config: c, ask: ask, log: log, hooks: map[string]*hooks.Admission{}, compiled: map[*config.Config]*access.Rules{}}
	for _, s := range c.Sections() {
		if _, err := r.compile(c.For(s.Pattern.Example())); err != nil {
			return nil, access.Options{}, fmt.Errorf("%s: %w", s.Pattern, err)
		}
	}
	o, err := r.options(c)
	if err != nil {
		return nil, o, err
	}
	o.MaxStreams, o.MaxViewers = c.MaxStreams, c.MaxViewers
	o.MaxViewersPerAddress, o.MaxStreamsPerAddress = c.MaxViewersPerAddress, c.MaxStreamsPerAddress
	if len(c.Sections()) > 0 {
		o.For = r.of
	}
	return r, o, nil
}

// options converts settings, those of all streams or of one, into options of the gate.
func (r *ruleSet) options(c *config.Config) (o access.Options, err error) {
	o = access.Options{Secret: []byte(c.TokenSecret), Accept: []byte(c.TokenSecretAccept), Revoked: c.Revoked, MaxViewersPerStream: c.MaxViewersPerStream}
	if o.Protect, err = access.ParseActions(strings.Join(c.Protect, ",")); err != nil {
		return o, err
	}
	if o.AllowPublish, err = access.ParseAllow(strings.Join(c.AllowPublish, ",")); err != nil {
		return o, err
	}
	if o.AllowPlay, err = access.ParseAllow(strings.Join(c.AllowPlay, ",")); err != nil {
		return o, err
	}
	if c.Hook == "" {
		return o, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	hook := r.hooks[c.Hook]
	if hook == nil {
		if hook, err = hooks.NewAdmission(c.Hook, r.ask); err != nil {
			return o, err
		}
		r.hooks[c.Hook] = hook
	}
	o.Ask = hook
	return o, nil
}

func (r *ruleSet) compile(c *config.Config) (*access.Rules, error) {
	o, err := r.options(c)
	if err != nil {
		return nil, err
	}
	return access.Compile(o)
}

// of returns the rules of a stream, nil for those of all.
func (r *ruleSet) of(stream string) *access.Rules {
	c := r.config.For(stream)
	if c == r.config {
		return nil
	}
	r.mu.Lock()
	rules := r.compiled[c]
	r.mu.Unlock()
	if rules != nil {
		return rules
	}
	rules, err := r.compile(c)
	if err != nil {
		// Each section was checked, so that this should not be; then all is refused.
		r.log.Error("the rules of a stream are wrong: it is refused to all", "stream", stream, "error", err)
		if rules, err = access.Compile(access.Options{Ask: refuseAll{}}); err != nil {
			panic("relay: " + err.Error())
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.compiled) >= mostCompiled {
		clear(r.compiled)
	}
	r.compiled[c] = rules
	return rules
}

// mostCompiled bounds the combinations of sections whose rules are kept.
const mostCompiled = 1000

type refuseAll struct{}

func (refuseAll) Ask(context.Context, *access.Request) error {
	return access.Refused("the server's rules are wrong")
}

func (r *ruleSet) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.hooks {
		h.Close()
	}
}
