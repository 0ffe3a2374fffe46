package cli

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// choose picks the scenarios that the patterns name, in their own order, or all that need not
// be named when there are no patterns. A pattern is a name, the beginning of one, or a glob in
// which * stands for anything but a slash. The narrowest reading that finds something holds:
// "pool" is the scenario of that name if there is one, else the group pool/, else all names
// that begin so.
func choose(all []lab.Scenario, patterns []string) ([]lab.Scenario, error) {
	if len(patterns) == 0 {
		return slices.DeleteFunc(slices.Clone(all), func(s lab.Scenario) bool { return s.Named }), nil
	}
	chosen := map[string]bool{}
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("bad pattern %q", pattern)
		}
		found := false
		for _, match := range []func(name string) bool{
			func(name string) bool { return name == pattern },
			func(name string) bool { return strings.HasPrefix(name, strings.TrimSuffix(pattern, "/")+"/") },
			func(name string) bool { return strings.HasPrefix(name, pattern) },
			func(name string) bool { return globs(pattern, name) },
		} {
			for i := 0; i < len(all) && pattern != ""; i++ {
				if match(all[i].Name) {
					chosen[all[i].Name], found = true, true
				}
			}
			if found {
				break
			}
		}
		if !found {
			return nil, fmt.Errorf("no scenario matches %q; see lab bench --list", pattern)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s lab.Scenario) bool { return !chosen[s.Name] }), nil
}

// globs reports whether a glob matches a name, or a group that the name is in, so
// that "t*" matches what "tcp" matches.
func globs(pattern, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}
