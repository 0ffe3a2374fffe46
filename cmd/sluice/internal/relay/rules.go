package relay

import (
	"net/netip"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
)

// trusted are the networks of trusted proxies.
func trusted(c *config.Config) ([]netip.Prefix, error) {
	return access.ParseAllow(strings.Join(c.TrustedProxies, ","))
}

// rules converts the settings into options of the gate. hook, nil for none, has to
// be closed when the rules hold no longer. done is called after each of its calls.
func rules(c *config.Config, done func(took time.Duration, result string)) (o access.Options, hook *hooks.Admission, err error) {
	o = access.Options{
		Secret:               []byte(c.TokenSecret),
		MaxStreams:           c.MaxStreams,
		MaxViewers:           c.MaxViewers,
		MaxViewersPerAddress: c.MaxViewersPerAddress,
		MaxStreamsPerAddress: c.MaxStreamsPerAddress,
		Revoked:              c.Revoked,
	}
	if o.Protect, err = access.ParseActions(strings.Join(c.Protect, ",")); err != nil {
		return o, nil, err
	}
	if o.AllowPublish, err = access.ParseAllow(strings.Join(c.AllowPublish, ",")); err != nil {
		return o, nil, err
	}
	if o.AllowPlay, err = access.ParseAllow(strings.Join(c.AllowPlay, ",")); err != nil {
		return o, nil, err
	}
	if c.Hook != "" {
		if hook, err = hooks.NewAdmission(c.Hook, hooks.AdmissionOptions{Done: done}); err != nil {
			return o, nil, err
		}
		o.Ask = hook
	}
	return o, hook, nil
}
