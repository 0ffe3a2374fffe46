package report

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/units"
)

var update = flag.Bool("update", false, "write docs/results/recorded.md from the results in docs/results/data")

// The page of recorded runs is what the files beside it have. With -update it is written.
func TestTheRecordedPageIsThatOfItsData(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "docs", "results")
	var results []*Result
	for _, pattern := range []string{"*.json", "*.json.gz"} {
		paths, err := filepath.Glob(filepath.Join(dir, "data", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			r, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, r)
		}
	}
	var want bytes.Buffer
	if err := writeResults(&want, results); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(dir, "recorded.md")
	if *update {
		if err := os.WriteFile(page, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || len(results) == 0 || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not the page of the %d results in data, %v: go test ./lab/internal/report -run Recorded -update", page, len(results), err)
	}
}

// Processors stand beside each other, the latest run of one counts, and every run is there
// with its date, command and data.
func TestRecordedResultsStandBesideEachOther(t *testing.T) {
	run := func(name, cpu string, day int, factor float64) *Result {
		f := benchWith(factor, "next")
		f.Machine.CPU, f.Started, f.Command = cpu, time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC), []string{"lab", "bench", "--full"}
		return opened(t, name, f)
	}
	var b strings.Builder
	err := writeResults(&b, []*Result{
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

type recorded struct {
	about []string
	cells map[string]string
}

// writeResults writes results that were recorded, on several processors perhaps, as a page of
// Markdown: what was measured in rows, processors beside each other. Of several results for
// one cell the latest counts. Names are those that links in the page lead to.
func writeResults(w io.Writer, results []*Result) error {
	results = slices.SortedStableFunc(slices.Values(results), func(a, b *Result) int { return a.Origin().Started.Compare(b.Origin().Started) })
	processors := map[string]bool{}
	var bench []*recorded
	add := func(r *Result, cell string, about ...string) {
		i := slices.IndexFunc(bench, func(row *recorded) bool { return slices.Equal(row.about, about) })
		if i < 0 {
			i = len(bench)
			bench = append(bench, &recorded{about, map[string]string{}})
		}
		bench[i].cells[r.Origin().Machine.CPU] = cell
	}
	for _, r := range results {
		if r.Bench == nil {
			continue // it stands in the list of runs
		}
		processors[r.Origin().Machine.CPU] = true
		for i := range r.Bench.Scenarios {
			benchRecords(&r.Bench.Scenarios[i], func(cell string, about ...string) { add(r, cell, about...) })
		}
	}
	var b strings.Builder
	b.WriteString("# Recorded runs\n\nWritten by a test of the lab from the files in [data](data), which have every value: not by hand. " +
		"Ratios are medians over interleaved rounds with their 95 % interval, less is better unless a figure is per second.\n")
	names := slices.Sorted(maps.Keys(processors))
	line := func(texts ...string) {
		for _, text := range texts {
			fmt.Fprintf(&b, "| %s ", escaped(text))
		}
		b.WriteString("|\n")
	}
	if len(bench) > 0 {
		b.WriteString("\n## Scenarios\n\n")
		line(append([]string{"Scenario", "What", "Against", "Asked"}, names...)...)
		b.WriteString("|" + strings.Repeat("---|", 4+len(names)) + "\n")
	}
	for _, row := range bench {
		cells := slices.Clone(row.about)
		for _, name := range names {
			cells = append(cells, row.cells[name])
		}
		line(cells...)
	}
	b.WriteString("\n## The runs\n\n| Data | Date | Processor | Cores | Go | Command |\n|---|---|---|---|---|---|\n")
	for _, r := range results {
		m, o := r.Origin().Machine, r.Origin()
		fmt.Fprintf(&b, "| [%s](data/%s) | %s | %s | %d | %s | `%s` |\n", escaped(r.Name), r.Name, o.Started.Format("2006-01-02"), escaped(m.CPU), m.Cores, m.Go, escaped(strings.Join(o.Command, " ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func benchRecords(o *measure.Outcome, add func(cell string, about ...string)) {
	s := Summarize(o)
	if !o.Measured() {
		return
	}
	kept := map[string][]string{} // variants that kept a promise without a comparison, by what was asked
	for _, t := range s.Targets {
		cell := "–"
		if t.Value != nil {
			cell = fmt.Sprintf("%s (%s–%s) %s", valueText(t, t.Value.Median), valueText(t, t.Value.Lo), valueText(t, t.Value.Hi), t.Status)
		}
		if asked := asked(o, &t); t.Against == "" && t.Status == Met {
			kept[asked] = append(kept[asked], t.Variant)
		} else {
			add(cell, s.Scenario, t.Variant, t.Against, asked)
		}
	}
	for _, asked := range slices.Sorted(maps.Keys(kept)) {
		add("met", s.Scenario, strings.Join(kept[asked], ", "), "", asked)
	}
	for _, r := range s.Rows {
		if r.Ratio != nil && len(s.Targets) == 0 {
			add(fmt.Sprintf("%s (%s–%s)", units.Ratio(r.Ratio.Median), units.Ratio(r.Ratio.Lo), units.Ratio(r.Ratio.Hi)), s.Scenario, r.Variant, s.Baseline, "")
		}
	}
}

func escaped(text string) string {
	return strings.NewReplacer("|", `\|`, "`", "'", "<", "&lt;").Replace(document.OneLine(text))
}
