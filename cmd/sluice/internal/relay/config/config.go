package config

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/pattern"
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

// A Section holds settings for the streams whose names match a pattern.
type Section struct {
	Pattern pattern.Pattern
	Values  []SectionValue // in the order of the file
}

// A SectionValue is one setting of a Section, as Set takes it.
type SectionValue struct {
	Name, Text, Place string
	list              bool // the text is of a sequence
}

// sections are those of a Config, in the order of the file.
type sections struct {
	list []Section

	mu       sync.Mutex
	owner    *Config // for which resolved is
	resolved map[string]*Config
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

// Place returns where a setting was set: FILE:LINE:COLUMN, $VARIABLE, or what SetBy
// said. It is empty for one that has its default.
func (c *Config) Place(setting string) string { return c.places[setting] }

// SetBy notes where a setting was set, for Place and for the errors of Check.
func (c *Config) SetBy(setting, where string) {
	if c.places == nil {
		c.places = map[string]string{}
	}
	c.places[setting] = where
}

// fault returns an error about a setting that says where it was set.
func (c *Config) fault(name, format string, args ...any) error {
	return Fault(c.places[name], name, fmt.Errorf(format, args...))
}

// Fault returns an error about a setting, which matches err, and says where it was set if that
// is known. It is nil when err is.
func Fault(place, setting string, err error) error {
	if err == nil {
		return nil
	}
	if !strings.HasPrefix(err.Error(), setting+": ") {
		err = fmt.Errorf("%s: %w", setting, err)
	}
	switch place {
	case "":
	case "--" + setting:
		err = fmt.Errorf("--%w", err)
	default:
		err = fmt.Errorf("%s: %w", place, err)
	}
	return err
}
