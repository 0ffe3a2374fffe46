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
	for _, name := range append(Rules(), evidence.Tools()...) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
	for _, c := range faults {
		if !strings.Contains(string(text), "`planted/"+c.name+"`") {
			t.Errorf("the page does not name planted/%s", c.name)
		}
	}
}
