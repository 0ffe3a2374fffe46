package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

// A Config says how a server works. Default, ReadFile, ReadEnv and the Set method
// of settings fill it in; a later call overrides an earlier one.
type Config struct {
	Listening
	Streams
	LiveStreaming
	Permission
	Limits
	Recording
	Elsewhere
	Clustering
	Events
	Operation

	sections *sections         // nil: none
	places   map[string]string // where a setting was set: as Place returns it
}

// groups are the groups of settings, in the order of help and files.
var groups = []struct {
	name     string
	settings func(*Config) []Setting
}{
	{"Listening", func(c *Config) []Setting { return c.Listening.settings() }},
	{"Streams", func(c *Config) []Setting { return c.Streams.settings() }},
	{"HLS", func(c *Config) []Setting { return c.LiveStreaming.settings() }},
	{"Permission", func(c *Config) []Setting { return c.Permission.settings() }},
	{"Limits", func(c *Config) []Setting { return c.Limits.settings() }},
	{"Recording", func(c *Config) []Setting { return c.Recording.settings() }},
	{"Elsewhere", func(c *Config) []Setting { return c.Elsewhere.settings() }},
	{"Cluster", func(c *Config) []Setting { return c.Clustering.settings() }},
	{"Events", func(c *Config) []Setting { return c.Events.settings() }},
	{"Operation", func(c *Config) []Setting { return c.Operation.settings() }},
}

// Groups returns the names of the groups in their order.
func Groups() []string {
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	return names
}

// Default returns the default settings.
func Default() Config {
	var c Config
	for _, s := range c.all() {
		if err := s.Set(s.Default); err != nil {
			panic("config: the default of " + s.Name + ": " + err.Error())
		}
	}
	return c
}

// Settings returns the settings that flags and files may set, by group. Their Set
// changes c.
func (c *Config) Settings() []Setting {
	return slices.DeleteFunc(c.all(), func(s Setting) bool { return s.Secret })
}

// Secrets returns those that come from the environment only.
func (c *Config) Secrets() []Setting {
	return slices.DeleteFunc(c.all(), func(s Setting) bool { return !s.Secret })
}

func (c *Config) all() []Setting {
	var list []Setting
	for _, g := range groups {
		for _, s := range g.settings(c) {
			s.Group = g.name
			list = append(list, s)
		}
	}
	return list
}

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
		return c.fault("cert", "rtmps, https and rtsps need a certificate file")
	case tls && c.Key == "":
		return c.fault("key", "rtmps, https and rtsps need a key file")
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

// fault returns an error about a setting that says where it was set.
func (c *Config) fault(name, format string, args ...any) error {
	text := name + ": " + fmt.Sprintf(format, args...)
	if place := c.places[name]; place != "" {
		text = place + ": " + text
	}
	return errors.New(text)
}

// On reports whether an address is set: it is neither empty nor "off".
func On(address string) bool { return address != "" && address != "off" }
