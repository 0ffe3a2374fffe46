package matrix

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sluice-go/sluice/lab/internal/units"
)

// fewRequests is where a P99 is hardly more than the slowest request: one in a
// hundred is less than one.
const fewRequests = 100

// Print writes the grid for people: for each layer a table of each of its main
// figures, then knees and what the marks mean.
func (f *File) Print(w io.Writer) error {
	var b strings.Builder
	shown := f.Figures
	if k, err := lookup(f.Name); err == nil && len(shown) > k.shown {
		shown = shown[:k.shown]
	}
	marks := marks{reasons: map[string]int{}}
	for layer, name := range f.Layers {
		for _, g := range shown {
			fmt.Fprintf(&b, "\n%s: %s; %s down, %s across\n", name, g.Title, f.Rows.Name, f.Columns.Name)
			for _, line := range f.table(layer, g, &marks) {
				b.WriteString(line + "\n")
			}
		}
	}
	f.printKnees(&b)
	marks.print(&b)
	f.printNoise(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// table is the lines of one figure of a layer.
func (f *File) table(layer int, g Figure, marks *marks) []string {
	rows := [][]string{append(append([]string{""}, f.Columns.Labels...), "noise")}
	cells := map[[2]int]*Cell{}
	for i := range f.Cells {
		if c := &f.Cells[i]; c.Layer == layer {
			cells[[2]int{c.Row, c.Column}] = c
		}
	}
	for row, label := range f.Rows.Labels {
		line := []string{label}
		least, most, any := 0.0, 0.0, false
		for column := range f.Columns.Labels {
			c := cells[[2]int{row, column}]
			if c == nil {
				line = append(line, "")
				continue
			}
			line = append(line, f.entry(c, g, marks))
			if noise, ok := c.Noise[g.Name]; ok {
				if !any {
					least, most, any = noise, noise, true
				}
				least, most = min(least, noise), max(most, noise)
			}
		}
		noise := ""
		switch {
		case any && units.Percent(least) == units.Percent(most):
			noise = "± " + units.Percent(most)
		case any:
			noise = "± " + strings.TrimSuffix(units.Percent(least), " %") + ".." + units.Percent(most)
		}
		rows = append(rows, append(line, noise))
	}
	return aligned(rows)
}

// entry is what stands in a cell.
func (f *File) entry(c *Cell, g Figure, marks *marks) string {
	v, floor, ok := c.Median(g.Name)
	valid, behind := false, false
	for _, r := range c.Runs {
		valid, behind = valid || r.Valid, behind || r.Behind
		if !r.Valid && !r.Behind {
			marks.reasons[r.Reason]++
		}
	}
	if !ok {
		switch {
		case len(c.Runs) == 0:
			marks.missing = true
			return "?"
		case !behind:
			marks.none = true
		}
		return "-"
	}
	text := units.Figure(v, g.Metric)
	switch {
	case floor:
		marks.floor = true
		text = "> " + text
	case behind && !valid:
		marks.behind = true
		text = "! " + text
	}
	if requests := c.requests(); g.Name == P99 && requests < fewRequests {
		marks.few = true
		text += "*"
	}
	return text
}

// requests is the most that a run of the cell rests on.
func (c *Cell) requests() (most uint64) {
	for _, r := range c.Runs {
		if r.Valid {
			most = max(most, r.Requests)
		}
	}
	return most
}

// aligned puts columns under each other, the first to the left.
func aligned(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var lines []string
	for _, row := range rows {
		var b strings.Builder
		b.WriteString(" ")
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString(" " + cell + space)
			} else {
				b.WriteString("  " + space + cell)
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// printKnees says where the knees are and by which rule, which is said once for
// all that have the same.
func (f *File) printKnees(b *strings.Builder) {
	k, err := lookup(f.Name)
	if err != nil || k.knees == nil {
		return
	}
	b.WriteString("\n")
	for layer, name := range f.Layers {
		var list []string
		along, rule := "", ""
		for _, knee := range f.Knees {
			if knee.Layer != layer {
				continue
			}
			text := knee.Label
			if knee.Open {
				text += " or more"
			}
			if knee.Note != "" && (f.Name != SizeConns || knee.Note != noteEnds) {
				text += " (" + knee.Note + ")"
			}
			list, along, rule = append(list, text), knee.Along, knee.Rule
		}
		switch {
		case len(list) > 0:
			wrap(b, "knee of "+name+": ", along+" "+strings.Join(list, "; "))
			wrap(b, "  ", "by the rule: "+rule)
		case f.tooNoisy(layer):
			noise, _ := f.noise(layer, f.Figures[0].Name)
			wrap(b, "knee of "+name+": ", "none to be had, the noise of ± "+units.Percent(noise)+" is too much")
		default:
			wrap(b, "knee of "+name+": ", "not known yet")
		}
	}
}

// printNoise says how far the runs were apart.
func (f *File) printNoise(b *strings.Builder) {
	again := 0
	for i := range f.Cells {
		for _, r := range f.Cells[i].Runs {
			if r.Round > f.Repeats {
				again++
			}
		}
	}
	title := f.NoiseOf
	for _, g := range f.Figures {
		if g.Name == f.NoiseOf {
			title = g.Title
		}
	}
	text := fmt.Sprintf("half the range of a cell's runs over their median; of %s it is ± %s in the middle of the grid", title, units.Percent(f.Noise))
	if again > 0 {
		text += fmt.Sprintf("; cells whose runs were far apart were measured again: %d more", again)
	}
	wrap(b, "noise: ", text)
}

// marks are those that were used, to be explained.
type marks struct {
	floor, behind, none, few, missing bool
	reasons                           map[string]int
}

func (m *marks) print(b *strings.Builder) {
	switch {
	case m.floor:
		wrap(b, ">  ", "at least so much, and - for latency: no run of the cell was valid: "+m.why())
	case m.none:
		wrap(b, "-  ", "no run of the cell was valid: "+m.why())
	}
	if m.behind {
		wrap(b, "!  ", "the target does not take that rate: this is what it takes, and - for latency, which would only grow")
	}
	if m.few {
		wrap(b, "*  ", fmt.Sprintf("under %d requests in a run: about the slowest of them", fewRequests))
	}
	if m.missing {
		wrap(b, "?  ", "not measured yet")
	}
}

// why is the most frequent reason.
func (m *marks) why() string {
	reason, most := "", 0
	for r, n := range m.reasons {
		if n > most || n == most && r < reason {
			reason, most = r, n
		}
	}
	return reason
}

// width is what lines stay within, but for tables.
const width = 100

// wrap writes a text behind a mark, with later lines indented as far.
func wrap(b *strings.Builder, mark, text string) {
	indent := min(utf8.RuneCountInString(mark), 20)
	line, n := mark, utf8.RuneCountInString(mark)
	begun := false
	for _, word := range strings.Fields(text) {
		k := utf8.RuneCountInString(word)
		if begun && n+1+k > width {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line, n, begun = strings.Repeat(" ", indent), indent, false
		}
		if begun {
			line, n = line+" ", n+1
		}
		line, n, begun = line+word, n+k, true
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
