package cli

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/scenarios"
)

func TestChoosingScenarios(t *testing.T) {
	var all []lab.Scenario
	for _, name := range []string{"framing/good", "framing/worst", "pool", "pool/64", "pool/64K", "pools", "tcp/128", "tcp/1K/flv"} {
		all = append(all, lab.Scenario{Name: name})
	}
	all = append(all, lab.Scenario{Name: "long/one", Named: true})
	for patterns, want := range map[string]string{
		"long":               "long/one",
		"*/one":              "long/one",
		"":                   "framing/good framing/worst pool pool/64 pool/64K pools tcp/128 tcp/1K/flv",
		"framing":            "framing/good framing/worst",
		"framing/":           "framing/good framing/worst",
		"framing/good":       "framing/good",
		"framing/g":          "framing/good",
		"f":                  "framing/good framing/worst",
		"pool":               "pool",
		"pool/":              "pool/64 pool/64K",
		"pool/64":            "pool/64",
		"pool/6":             "pool/64 pool/64K",
		"po":                 "pool pool/64 pool/64K pools",
		"*/good":             "framing/good",
		"t*":                 "tcp/128 tcp/1K/flv",
		"tcp/1K":             "tcp/1K/flv",
		"*/*/flv":            "tcp/1K/flv",
		"tcp framing/worst":  "framing/worst tcp/128 tcp/1K/flv",
		"framing framing/g*": "framing/good framing/worst",
	} {
		got, err := choose(all, strings.Fields(patterns))
		var names []string
		for _, s := range got {
			names = append(names, s.Name)
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%q: got %q, %v; want %q", patterns, names, err, want)
		}
	}
	for _, wrong := range []string{"nosuch", "[", "framing/x*", "tcp/128/more"} {
		if got, err := choose(all, []string{"framing", wrong}); err == nil {
			t.Errorf("%q: got %d scenarios", wrong, len(got))
		}
	}
	if _, err := choose(all, []string{""}); err == nil {
		t.Error("an empty name chose something")
	}
}

func TestHelpNamesWhatHasToBeNamed(t *testing.T) {
	text := command("bench", nil).Long
	for _, s := range scenarios.All() {
		group, _, _ := strings.Cut(s.Name, "/")
		if s.Named && !strings.Contains(text, group+",") && !strings.Contains(text, s.Name) {
			t.Errorf("%s is run only by name, and lab bench --help does not say so", s.Name)
		}
	}
}
