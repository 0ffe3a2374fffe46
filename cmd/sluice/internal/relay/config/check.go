package config

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

// Check reports the first setting that is outside its limits or conflicts with
// another. It names the setting and the limit.
func (c *Config) Check() error {
	for _, s := range c.Settings() {
		if err := s.check(); err != nil {
			return c.fault(s.Name, "%v", err)
		}
	}
	tls := On(c.RTMPS) || On(c.HTTPS) || On(c.RTSPS)
	switch {
	case !On(c.RTMP) && !On(c.RTMPS) && !On(c.HTTP) && !On(c.HTTPS) && !On(c.RTSP) && !On(c.RTSPS) && !On(c.SRT):
		return c.fault("http", "all listeners are off: one of rtmp, rtmps, http, https, rtsp, rtsps and srt is needed")
	case tls && c.Cert == "":
		return c.lacks("cert", "rtmps, https and rtsps need a certificate file")
	case tls && c.Key == "":
		return c.lacks("key", "rtmps, https and rtsps need a key file")
	case len(c.ProxyProtocol) > 0 && len(c.TrustedProxies) == 0:
		return c.fault("proxy-protocol", "needs trusted-proxies: the networks from which it is believed")
	case len(c.Protect) > 0 && c.TokenSecret == "":
		return c.fault("protect", "needs a secret in the environment variable %s, such as what openssl rand -hex 32 prints", EnvTokenSecret)
	case len(c.Protect) > 0 && len(c.TokenSecret) < access.MinSecret:
		return c.fault("protect", "the secret in %s has %d bytes, at least %d are needed", EnvTokenSecret, len(c.TokenSecret), access.MinSecret)
	}
	if err := c.checkAddresses(); err != nil {
		return err
	}
	if err := c.Clustering.check(c); err != nil {
		return err
	}
	return c.checkSections()
}

// lacks is fault for a setting of TLS that has no value: what needs one says where.
func (c *Config) lacks(name, says string) error {
	where := c.places[name]
	for _, s := range c.Settings() {
		if slices.Contains([]string{"rtmps", "https", "rtsps"}, s.Name) && On(s.String()) {
			where = cmp.Or(where, c.places[s.Name])
		}
	}
	return Fault(where, name, errors.New(says))
}

// checkAddresses finds an address that two listeners have: the second of them could not
// listen.
func (c *Config) checkAddresses() error {
	for _, list := range [][]string{{"rtmp", "rtmps", "http", "https", "rtsp", "rtsps", "webrtc"}, {"webrtc", "srt", "rtsp-udp"}} {
		of := map[string]string{}
		for _, s := range c.Settings() {
			address := s.String()
			if !slices.Contains(list, s.Name) || !On(address) || strings.HasSuffix(address, ":0") {
				continue
			}
			other, taken := of[address]
			if !taken {
				of[address] = s.Name
				continue
			}
			name := s.Name
			if address == s.Default {
				name, other = other, name // the one that was set
			}
			return c.fault(name, "%q is the address of %s too", address, other)
		}
	}
	return nil
}

// check reports what does not go together.
func (g *Clustering) check(c *Config) error {
	switch {
	case !g.Cluster:
		return nil
	case len(g.ClusterSecret) < minSecret:
		return c.fault("cluster", "needs a secret of at least %d bytes in the environment variable SLUICE_CLUSTER_SECRET, such as what openssl rand -hex 32 prints", minSecret)
	case g.NATS != "" && len(g.Join) > 0:
		return c.fault("join", "not with nats, over which nodes find each other")
	case len(c.Origin) > 0:
		return c.fault("origin", "not with cluster, which finds the origins")
	case !On(c.HTTP) && !On(c.HTTPS):
		return c.fault("cluster", "needs an HTTP listener, from which other nodes pull")
	case g.NATS == "" && !On(g.ClusterAddress):
		return c.fault("cluster-address", "a cluster without nats needs it")
	}
	return nil
}

// checkSections reports the first section whose settings conflict with others.
func (c *Config) checkSections() error {
	for _, s := range c.Sections() {
		if err := c.with(s).Check(); err != nil {
			return err
		}
	}
	return nil
}
