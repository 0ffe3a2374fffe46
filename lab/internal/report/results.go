package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/units"
)

type recorded struct {
	about []string
	cells map[string]string
}

// WriteResults writes results that were recorded, on several processors perhaps, as a page of
// Markdown: what was measured in rows, processors beside each other. Of several results for
// one cell the latest counts. Names are those that links in the page lead to.
func WriteResults(w io.Writer, results []*Result) error {
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
	b.WriteString("# Recorded runs\n\nWritten by `lab report --results` from the files in [data](data), which have every value: not by hand. " +
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
