package config

import "fmt"

// Reload copies from next the settings that can change while the server runs, and
// keeps the others. It returns the names of those that were changed and of those
// that wait for a restart, in the order of Settings; sections are one of them, streams.
func (c *Config) Reload(next Config) (changed, waiting []string) {
	theirs := next.all()
	for i, s := range c.all() {
		to := theirs[i].String()
		switch {
		case s.String() == to:
		case !s.Live:
			waiting = append(waiting, s.Name)
		default:
			if err := s.Set(to); err != nil {
				panic(fmt.Sprintf("config: Reload of %s, which was not checked: %v", s.Name, err))
			}
			changed = append(changed, s.Name)
		}
	}
	if !sameSections(c.Sections(), next.Sections()) {
		changed = append(changed, sectionsKey)
	}
	c.sections = next.sections.fresh()
	c.places = next.places
	return changed, waiting
}
