package cli

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// choose picks the scenarios that the patterns name, in their own order, or
// all that need not be named when there are no patterns. A pattern is a name, the beginning of one, or a glob in which
// * stands for anything but a slash. The narrowest reading that finds something holds: "pool"
// is the scenario of that name if there is one, else the group pool/, else all
// names that begin so.
func choose(all []lab.Scenario, patterns []string) ([]lab.Scenario, error) {
	if len(patterns) == 0 {
		return slices.DeleteFunc(slices.Clone(all), func(s lab.Scenario) bool { return s.Named }), nil
	}
	chosen := make([]bool, len(all))
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("bad pattern %q", pattern)
		}
		if !mark(chosen, all, pattern) {
			return nil, fmt.Errorf("no scenario matches %q; see lab bench --list", pattern)
		}
	}
	var list []lab.Scenario
	for i, yes := range chosen {
		if yes {
			list = append(list, all[i])
		}
	}
	return list, nil
}

func mark(chosen []bool, all []lab.Scenario, pattern string) bool {
	if pattern == "" {
		return false
	}
	group := strings.TrimSuffix(pattern, "/") + "/"
	for _, match := range []func(name string) bool{
		func(name string) bool { return name == pattern },
		func(name string) bool { return strings.HasPrefix(name, group) },
		func(name string) bool { return strings.HasPrefix(name, pattern) },
		func(name string) bool { return globs(pattern, name) },
	} {
		found := false
		for i := range all {
			if match(all[i].Name) {
				chosen[i], found = true, true
			}
		}
		if found {
			return true
		}
	}
	return false
}

// globs reports whether a glob matches a name, or a group that the name is in, so
// that "t*" matches what "tcp" matches.
func globs(pattern, name string) bool {
	for {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return false
		}
		name = name[:i]
	}
}
