package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/matrix"
	"github.com/sluice-go/sluice/lab/internal/units"
)

const (
	// heatSteps is how many colours a heat map has: of one hue, which differ in
	// lightness alone.
	heatSteps = 9
	// fewRequests is where a P99 is hardly more than the slowest request: one in a
	// hundred is less than one.
	fewRequests = 100
)

// MatrixHead says what is going to be measured.
func MatrixHead(f *matrix.File) []document.Item {
	lines := f.Machine.Lines()
	return []document.Item{
		document.Say(lines[0]), document.Say(lines[1]), document.Say(f.Name + ": " + f.Title),
		document.Say(fmt.Sprintf("cells: %d; rounds: %d; runs to make: %d of %v, about %s; seed %d", len(f.Cells), f.Repeats, f.Missing(), f.CellTime, units.Span(f.Estimate()), f.Seed)),
	}
}

// MatrixResult has a table of each of the first figures of each layer, the knees, and what
// the marks in the cells mean.
func MatrixResult(f *matrix.File, figures int) []document.Item {
	var items []document.Item
	used := marks{}
	for layer, name := range f.Layers {
		for i := range min(figures, len(f.Figures)) {
			items = append(items, heatmap(f, layer, &f.Figures[i], fmt.Sprintf("%s: %s", name, f.Figures[i].Title), used))
		}
	}
	items = append(items, document.Say(""))
	items = append(items, knees(f)...)
	items = append(items, used.legend()...)
	return append(items, document.Note(noiseText(f)))
}

func heatmap(f *matrix.File, layer int, figure *matrix.Figure, caption string, used marks) *document.Table {
	better := "less is better"
	if figure.More {
		better = "more is better"
	}
	t := &document.Table{Class: "heat", Caption: fmt.Sprintf("%s; %s down, %s across; %s", caption, f.Rows.Name, f.Columns.Name, better), Columns: document.Columns(append(append([]string{""}, f.Columns.Labels...), "noise")...)}
	cells := map[[2]int]*matrix.Cell{}
	lo, hi := math.Inf(1), 0.0
	for i := range f.Cells {
		if c := &f.Cells[i]; c.Layer == layer {
			cells[[2]int{c.Row, c.Column}] = c
			if v, ok := c.Median(figure.Name); ok && v > 0 {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	for row, label := range f.Rows.Labels {
		line := document.Texts(label)
		least, most := math.Inf(1), math.Inf(-1)
		for column := range f.Columns.Labels {
			c := cells[[2]int{row, column}]
			if c == nil {
				line.Cells = append(line.Cells, document.Cell{Class: "none"})
				continue
			}
			cell := heatCell(c, figure, lo, hi, used)
			if slices.ContainsFunc(f.Knees, func(k matrix.Knee) bool {
				return k.Layer == layer && k.Column == column && k.Row == row && k.Figure == figure.Name
			}) {
				cell.Class += " knee"
			}
			line.Cells = append(line.Cells, cell)
			if noise, ok := c.Noise[figure.Name]; ok {
				least, most = min(least, noise), max(most, noise)
			}
		}
		noise := document.Cell{Style: document.Dim}
		if least <= most {
			if noise.Text = "± " + units.Percent(most); units.Percent(least) != units.Percent(most) {
				noise.Text = "± " + strings.TrimSuffix(units.Percent(least), " %") + ".." + units.Percent(most)
			}
		}
		line.Cells = append(line.Cells, noise)
		t.Rows = append(t.Rows, line)
	}
	return t
}

// heatCell is what stands in a cell: a median of valid runs, "generator" where that was the
// limit, or a mark and what the target took.
func heatCell(c *matrix.Cell, figure *matrix.Figure, lo, hi float64, used marks) document.Cell {
	v, ok := c.Median(figure.Name)
	valid, most := 0, uint64(0)
	var reasons []string
	for _, r := range c.Runs {
		if most = max(most, r.Requests); r.Valid {
			valid++
		} else if !slices.Contains(reasons, r.Reason) {
			reasons = append(reasons, r.Reason)
		}
	}
	cell := document.Cell{About: fmt.Sprintf("%d of %s valid", valid, units.Plural(len(c.Runs), "run"))}
	if len(reasons) > 0 {
		cell.About += ": " + strings.Join(reasons, "; ")
	}
	switch {
	case len(c.Runs) == 0:
		used["?"] = "not measured yet"
		return document.Cell{Text: "?", Class: "none", About: "not measured"}
	case c.Limited():
		used["generator"] = "the generator was the limit in every run: the target may be able to do more"
		cell.Text, cell.Class = "generator", "invalid"
		return cell
	case !ok:
		cell.Text, cell.Class = "-", "invalid"
		if len(reasons) > 0 && valid == 0 && used["-"] == "" {
			used["-"] = "no run of the cell was valid: " + reasons[0]
		}
		return cell
	case valid == 0:
		used["!"] = "the target does not take that rate: this is what it takes, and - for latency, which would only grow"
		cell.Text, cell.Class = "! "+units.Figure(v, figure.Metric), "invalid"
	default:
		cell.Text, cell.Class = units.Figure(v, figure.Metric), fmt.Sprintf("h%d", heatStep(v, lo, hi))
		if valid < len(c.Runs) {
			cell.Class += " part"
		}
	}
	if figure.Name == matrix.P99 && most < fewRequests {
		used["*"] = fmt.Sprintf("under %d requests in a run: about the slowest of them", fewRequests)
		cell.Text += "*"
	}
	if noise, ok := c.Noise[figure.Name]; ok {
		cell.Small = "± " + units.Percent(noise)
	}
	return cell
}

// heatStep places a value among the colours: by its logarithm where the values differ
// by more than a factor of ten, else evenly.
func heatStep(v, lo, hi float64) int {
	if !(hi > lo) || v <= 0 {
		return 0
	}
	part := (v - lo) / (hi - lo)
	if hi/lo > 10 {
		part = math.Log(v/lo) / math.Log(hi/lo)
	}
	return min(heatSteps-1, max(0, int(part*heatSteps)))
}

type marks map[string]string

func (m marks) legend() []document.Item {
	var items []document.Item
	for _, mark := range []string{"generator", "-", "!", "*", "?"} {
		if text := m[mark]; text != "" {
			items = append(items, &document.Para{Mark: mark, Text: text})
		}
	}
	return items
}

// knees says where they are and by which rule, which is said once for all that
// have the same.
func knees(f *matrix.File) []document.Item {
	if !matrix.HasKnees(f.Name) {
		return nil
	}
	var items []document.Item
	for layer, name := range f.Layers {
		var list []string
		along, rule := "", ""
		for _, k := range f.Knees {
			if k.Layer != layer {
				continue
			}
			text := k.Label
			if k.Open {
				text += " or more"
			}
			if k.Note != "" {
				text += " (" + k.Note + ")"
			}
			list, along, rule = append(list, text), k.Along, k.Rule
		}
		mark := "knee of " + name + ":"
		noise, noisy := f.TooNoisy(layer)
		switch {
		case len(list) > 0:
			items = append(items, &document.Para{Mark: mark, Text: along + " " + strings.Join(list, "; ")}, &document.Para{Mark: "by the rule:", MarkStyle: document.Dim, Text: rule})
		case noisy:
			items = append(items, &document.Para{Mark: mark, Text: "none to be had, the noise of ± " + units.Percent(noise) + " is too much"})
		default:
			items = append(items, &document.Para{Mark: mark, Text: "not known: there are no figures, or the generator was the limit"})
		}
	}
	return items
}

func noiseText(f *matrix.File) string {
	what := f.NoiseOf
	for i := range f.Figures {
		if f.Figures[i].Name == f.NoiseOf {
			what = f.Figures[i].Title
		}
	}
	return fmt.Sprintf("Noise is half the range of a cell's runs over their median; of %s it is ± %s in the middle of the grid.", what, units.Percent(f.Noise))
}

func matrixSection(section *document.Section, f *matrix.File) *document.Section {
	runs, invalid := 0, 0
	for _, c := range f.Cells {
		for _, r := range c.Runs {
			if runs++; !r.Valid {
				invalid++
			}
		}
	}
	about := fmt.Sprintf("%s of %s in %s; %s of each cell were asked for", units.Plural(runs, "run"), units.Time(f.CellTime), units.Span(time.Duration(f.Seconds*float64(time.Second))), units.Plural(f.Repeats, "round"))
	if invalid > 0 {
		about += fmt.Sprintf("; %d not valid", invalid)
	}
	section.Add(document.Say(f.Title), document.Note(about+". Cells have medians; striped ones are invalid, and of those with a dashed edge some runs are. A coloured edge is the knee."))
	return section.Add(MatrixResult(f, len(f.Figures))...)
}
