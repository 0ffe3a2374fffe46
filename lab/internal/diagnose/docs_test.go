package diagnose

import (
	"os"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/faulty"
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
}

func TestEveryFaultyProgramIsTested(t *testing.T) {
	for i, p := range faulty.All() {
		if i >= len(faults) || faults[i].name != p.Name {
			t.Errorf("faulty/%s is not among the faults that have to be named", p.Name)
		}
	}
}

// TestRulesKnowNothingOfThePrograms searches the rules for the names that the programs with a fault
// declare.
func TestRulesKnowNothingOfThePrograms(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range faults {
			if strings.Contains(string(text), c.place) || strings.Contains(string(text), "/faulty") {
				t.Errorf("%s knows %s", file.Name(), c.place)
			}
		}
	}
}
