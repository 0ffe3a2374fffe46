package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/pattern"
)

// sectionsKey is the key of a file below which settings for some streams are.
const sectionsKey = "streams"

// mostSections bounds them, since each is looked at when a session begins.
const mostSections = 1000

// mostResolved bounds the combinations of sections that are kept.
const mostResolved = 1000

// Sections returns the settings for some streams, in the order of the file.
func (c *Config) Sections() []Section {
	if c.sections == nil {
		return nil
	}
	return c.sections.list
}

// For returns the settings of one stream: c with those of all sections whose pattern
// matches, the later ones above the earlier ones. It is immutable, and the same pointer
// for all streams that the same sections match. c must not change any more.
func (c *Config) For(stream string) *Config {
	if c.sections == nil {
		return c
	}
	var matching []Section
	var key strings.Builder
	for i, s := range c.sections.list {
		if _, ok := s.Pattern.Match(stream); ok {
			matching = append(matching, s)
			fmt.Fprintf(&key, "%d ", i)
		}
	}
	if matching == nil {
		return c
	}
	s := c.sections
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner != c || len(s.resolved) >= mostResolved {
		s.owner, s.resolved = c, map[string]*Config{}
	}
	if r := s.resolved[key.String()]; r != nil {
		return r
	}
	r := c.with(matching...)
	s.resolved[key.String()] = r
	return r
}

// with returns c with the settings of sections, which were checked.
func (c *Config) with(list ...Section) *Config {
	r := *c
	r.sections = nil
	r.places = maps.Clone(c.places)
	settings := r.byName()
	for _, s := range list {
		for _, v := range s.Values {
			if err := settings[v.Name].Set(v.Text); err != nil {
				panic(fmt.Sprintf("config: %s of a section, which was checked: %v", v.Name, err))
			}
			r.SetBy(v.Name, v.Place)
		}
	}
	return &r
}

func (c *Config) byName() map[string]Setting {
	settings := map[string]Setting{}
	for _, s := range c.Settings() {
		settings[s.Name] = s
	}
	return settings
}

// addSection adds a section whose values are in scratch's settings' form: it reports
// everything that is wrong with it, joined.
func (c *Config) addSection(name, where string, values []SectionValue) error {
	p, err := pattern.Parse(name)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if len(c.Sections()) >= mostSections {
		return fmt.Errorf("%s: more than %d sections", where, mostSections)
	}
	scratch := Default()
	settings := scratch.byName()
	var faults []error
	for i, v := range values {
		s, ok := settings[v.Name]
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("%s: unknown key %q%s", v.Place, v.Name, c.Meant(v.Name)))
			continue
		case !s.Scoped:
			faults = append(faults, fmt.Errorf("%s: %s holds for all streams: it has no place in a section", v.Place, v.Name))
			continue
		}
		if v.list && !s.list() {
			faults = append(faults, fmt.Errorf("%s: %s: takes one value, not a list", v.Place, v.Name))
			continue
		}
		if v.Name == "push" {
			v.Text = withPattern(name, v.Text)
		}
		if err := s.Set(v.Text); err != nil {
			faults = append(faults, fmt.Errorf("%s: %s: %w", v.Place, v.Name, err))
			continue
		}
		values[i].Text = s.String()
	}
	if faults != nil {
		return errors.Join(faults...)
	}
	if c.sections == nil {
		c.sections = &sections{}
	}
	c.sections.list = append(c.sections.list, Section{p, values})
	return nil
}

// withPattern puts the section's pattern before targets that are bare addresses.
func withPattern(pattern, targets string) string {
	var list []string
	for target := range strings.SplitSeq(targets, ",") {
		target = strings.TrimSpace(target)
		for _, scheme := range []string{"rtmp://", "rtmps://", "srt://", "enhanced:"} {
			if strings.HasPrefix(target, scheme) {
				target = pattern + "=" + target
				break
			}
		}
		list = append(list, target)
	}
	return strings.Join(list, ",")
}

// sameSections reports whether two configurations have the same sections, wherever
// they are from.
func sameSections(a, b []Section) bool {
	return slices.EqualFunc(a, b, func(a, b Section) bool {
		return a.Pattern == b.Pattern && slices.EqualFunc(a.Values, b.Values, func(a, b SectionValue) bool { return a.Name == b.Name && a.Text == b.Text })
	})
}

// fresh returns the sections without what was resolved for another Config.
func (s *sections) fresh() *sections {
	if s == nil {
		return nil
	}
	return &sections{list: s.list}
}
