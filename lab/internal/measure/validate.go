package measure

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// Validate says what is contradictory in the definitions: names that occur
// twice or are not fit for a benchmark's name, a baseline or target that names no variant, two bounds for one
// figure, a curve without places for its points, operations below 1.
func Validate(scenarios []lab.Scenario) error {
	seen := map[string]bool{}
	for i := range scenarios {
		s := &scenarios[i]
		if seen[s.Name] {
			return fmt.Errorf("measure: two scenarios are named %q", s.Name)
		}
		seen[s.Name] = true
		if err := validate(s); err != nil {
			return fmt.Errorf("measure: scenario %q: %w", s.Name, err)
		}
	}
	return nil
}

func validate(s *lab.Scenario) error {
	if !fitName(s.Name) || strings.HasPrefix(s.Name, "/") || strings.HasSuffix(s.Name, "/") {
		return fmt.Errorf("the name must be letters, digits and -_.=+/ only")
	}
	if s.Ops < 1 {
		return fmt.Errorf("%d operations", s.Ops)
	}
	if s.Metric == "" {
		return fmt.Errorf("no metric to compare")
	}
	variants := map[string]bool{}
	for _, v := range s.Variants {
		switch {
		case !fitName(v.Name) || strings.Contains(v.Name, "/"):
			return fmt.Errorf("variant %q: the name must be letters, digits and -_.=+ only", v.Name)
		case variants[v.Name]:
			return fmt.Errorf("two variants are named %q", v.Name)
		case v.Open == nil:
			return fmt.Errorf("variant %q cannot be opened", v.Name)
		}
		variants[v.Name] = true
	}
	if !variants[s.Baseline] {
		return fmt.Errorf("the baseline %q is no variant", s.Baseline)
	}
	for _, t := range s.Targets {
		if !variants[t.Variant] {
			return fmt.Errorf("a target is set for %q, which is no variant", t.Variant)
		}
		if t.Against != "" && !variants[t.Against] {
			return fmt.Errorf("a target is set against %q, which is no variant", t.Against)
		}
		if t.AtLeast < 0 || t.AtLeast > 0 && (t.AtMost != 0 || t.Upper) {
			return fmt.Errorf("a target for %q has bounds %v and %v: one is enough", t.Variant, t.AtMost, t.AtLeast)
		}
	}
	return nil
}

// fitName accepts what the benchmark text format can carry.
func fitName(name string) bool {
	if name == "" {
		return false
	}
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		case strings.ContainsRune("-_.=+/", r):
		default:
			return false
		}
	}
	return true
}
