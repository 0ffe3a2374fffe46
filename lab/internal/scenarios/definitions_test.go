package scenarios

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

func TestTheDefinitionsAgreeWithEachOther(t *testing.T) {
	all := All()
	if err := validate(all); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Title == "" || s.Op == "" {
			t.Errorf("%s: no title or operation", s.Name)
		}
		for _, v := range s.Variants {
			if v.About == "" {
				t.Errorf("%s/%s does not say what it is", s.Name, v.Name)
			}
		}
	}
}

func TestContradictoryDefinitionsAreRefused(t *testing.T) {
	v := lab.Variant{Name: "v", Open: func(lab.Env) (lab.Runner, error) { return nil, nil }}
	scenario := func(name string, variants ...lab.Variant) lab.Scenario {
		return lab.Scenario{Name: name, Metric: lab.NsPerOp, Baseline: "v", Ops: 1, Variants: variants}
	}
	change := func(f func(*lab.Scenario)) []lab.Scenario {
		s := scenario("s", v)
		f(&s)
		return []lab.Scenario{s}
	}
	for want, list := range map[string][]lab.Scenario{
		`two scenarios are named "s"`:  {scenario("s", v), scenario("s", v)},
		`letters, digits`:              change(func(s *lab.Scenario) { s.Name = "a b" }),
		`two variants are named "v"`:   {scenario("s", v, v)},
		`the baseline "w"`:             change(func(s *lab.Scenario) { s.Baseline = "w" }),
		`0 operations`:                 change(func(s *lab.Scenario) { s.Ops = 0 }),
		`no metric`:                    change(func(s *lab.Scenario) { s.Metric = "" }),
		`set for "w"`:                  change(func(s *lab.Scenario) { s.Targets = []lab.Target{{Variant: "w"}} }),
		`set against "w"`:              change(func(s *lab.Scenario) { s.Targets = []lab.Target{{Variant: "v", Against: "w"}} }),
		`has bounds 0.5 and 2`:         change(func(s *lab.Scenario) { s.Targets = []lab.Target{{Variant: "v", AtMost: 0.5, AtLeast: 2}} }),
		`has bounds 0 and -1`:          change(func(s *lab.Scenario) { s.Targets = []lab.Target{{Variant: "v", AtLeast: -1}} }),
		`variant "a/b"`:                change(func(s *lab.Scenario) { s.Variants = append(s.Variants, lab.Variant{Name: "a/b"}) }),
		`variant "a" cannot be opened`: change(func(s *lab.Scenario) { s.Variants = append(s.Variants, lab.Variant{Name: "a"}) }),
	} {
		err := validate(list)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// validate says what is contradictory in the definitions: names that occur
// twice or are not fit for a benchmark's name, a baseline or target that names no variant, two bounds for one
// figure, a curve without places for its points, operations below 1.
func validate(scenarios []lab.Scenario) error {
	seen := map[string]bool{}
	for i := range scenarios {
		s := &scenarios[i]
		if seen[s.Name] {
			return fmt.Errorf("two scenarios are named %q", s.Name)
		}
		seen[s.Name] = true
		if err := validateOne(s); err != nil {
			return fmt.Errorf("scenario %q: %w", s.Name, err)
		}
	}
	return nil
}

func validateOne(s *lab.Scenario) error {
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
		if t.AtLeast < 0 || t.AtLeast > 0 && t.AtMost != 0 {
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
