package diagnose

import (
	"os"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

func TestThePageNamesEveryRuleAndTool(t *testing.T) {
	text, err := os.ReadFile("../../../docs/diagnosis.md")
	if err != nil {
		t.Fatal(err)
	}
	names := append(evidence.Tools(), "refused-connections", "unclosed-body")
	for _, r := range rules {
		names = append(names, r.name)
		if advice[r.name] == "" {
			t.Errorf("there is nothing to try against %s", r.name)
		}
	}
	for _, name := range names {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
}
