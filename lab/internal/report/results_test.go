package report

import (
	"strings"
	"testing"
	"time"
)

// Processors stand beside each other, the latest run of one counts, and every run is there
// with its date, command and data.
func TestRecordedResultsStandBesideEachOther(t *testing.T) {
	run := func(name, cpu string, day int, factor float64) *Result {
		f := benchWith(factor, "next")
		f.Machine.CPU, f.Started, f.Command = cpu, time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC), []string{"lab", "bench", "--full"}
		return opened(t, name, f)
	}
	var b strings.Builder
	err := WriteResults(&b, []*Result{
		run("new.json", "Intel | X", 9, 1), run("old.json", "Intel | X", 2, 4), run("amd.json.gz", "AMD", 3, 0.5), opened(t, "load.json", loadFixture(1, 1, 1)), opened(t, "m.json", matrixFixture(1, 1)),
	})
	if err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		"| Scenario | What | Against | Asked | AMD | Intel \\| X |\n",
		"| framing/good | next | peek | ≤ 0.85 | 0.40 (", "| 0.80 (0.", ") met |",
		"| next | naive | ≤ 0.05 | 0.05 (", "missed",
		"| [amd.json.gz](data/amd.json.gz) | 2026-03-03 | AMD | 2 | go1.25.0 | `lab bench --full` |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "3.2") && strings.Contains(page, "3.20 (") {
		t.Error("an older run of a processor counts")
	}
	cells := 0
	for line := range strings.Lines(page) {
		if n := strings.Count(strings.ReplaceAll(line, "\\|", ""), "|"); strings.HasPrefix(line, "| framing") {
			if cells++; n != 7 {
				t.Errorf("%d edges of cells: %s", n, line)
			}
		}
	}
	if cells != 8 {
		t.Errorf("%d rows of scenarios, want one for each target", cells)
	}
}
