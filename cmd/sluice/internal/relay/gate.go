package relay

import (
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// trust sets the trusted proxies from the settings.
func (s *Server) trust(c *config.Config) error {
	networks, err := access.ParseAllow(strings.Join(c.TrustedProxies, ","))
	if err != nil {
		return err
	}
	return s.proxies.Update(networks)
}

// newGate makes a gate from the settings.
func (s *Server) newGate(c *config.Config) (*access.Gate, error) {
	o, err := s.rules(c)
	if err != nil {
		return nil, err
	}
	return access.New(o)
}

// rules converts the settings into options of the gate.
func (s *Server) rules(c *config.Config) (o access.Options, err error) {
	o = access.Options{
		Secret:               []byte(c.TokenSecret),
		Hook:                 c.Hook,
		MaxStreams:           c.MaxStreams,
		MaxViewers:           c.MaxViewers,
		MaxViewersPerAddress: c.MaxViewersPerAddress,
		MaxStreamsPerAddress: c.MaxStreamsPerAddress,
		Revoked:              c.Revoked,
		HookDone:             s.observeHook,
	}
	if o.Protect, err = access.ParseActions(strings.Join(c.Protect, ",")); err != nil {
		return o, err
	}
	if o.AllowPublish, err = access.ParseAllow(strings.Join(c.AllowPublish, ",")); err != nil {
		return o, err
	}
	if o.AllowPlay, err = access.ParseAllow(strings.Join(c.AllowPlay, ",")); err != nil {
		return o, err
	}
	return o, nil
}
