package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/scenarios"
)

// A command on a page has to work: scenarios go, and pages that name them stay. What stands in
// docs/results was run at its time.
func TestPagesNameScenariosThatThereAre(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("some scenarios are Linux's only")
	}
	pages := []string{"../../../README.md", "../../../README.zh-CN.md", "../../../CONTRIBUTING.md"}
	err := filepath.WalkDir("../../../docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "results" {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, ".md") {
			pages = append(pages, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile("lab bench([^`#|\n]*)")
	named := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			patterns := slices.DeleteFunc(strings.Fields(m[1]), func(s string) bool { return strings.HasPrefix(s, "-") })
			named += len(patterns)
			if _, err := choose(scenarios.All(), patterns); err != nil {
				t.Errorf("%s: lab bench%s: %v", page, m[1], err)
			}
		}
	}
	if named == 0 {
		t.Error("no page names a scenario")
	}
}
