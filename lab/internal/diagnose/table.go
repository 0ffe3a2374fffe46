package diagnose

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// The columns of the table. Clue and advice stand under the row, from the
// last column on.
const (
	tableWidth = 100
	costWidth  = 5
	toolWidth  = 13
	shareWidth = 6
	indent     = costWidth + 2 + toolWidth + 1 + shareWidth + 2
)

// WriteTable writes the diagnosis for people, in 100 columns. With colour, names
// of rules stand out.
func (d *Diagnosis) WriteTable(w io.Writer, colour bool) error {
	t := table{colour: colour}
	t.head(&d.Evidence)
	plain := len(d.Findings) > 0 && d.Findings[0].Rule == ""
	if plain {
		t.out.WriteString("no rule found anything; each tool saw most of\n\n")
	}
	t.row("cost", "tool", "share", "top function or event", "")
	for i := range d.Findings {
		f := &d.Findings[i]
		cost := units.Percent(f.Score)
		if f.Rule == "" {
			if !plain {
				t.out.WriteString("\nbesides, each tool saw most of\n")
				plain = true
			}
			cost = ""
		}
		part := ""
		if f.Share > 0 {
			part = units.Percent(f.Share)
		}
		t.row(cost, f.Tool, part, f.Top, f.Rule)
		t.under(f.Clue)
		if f.Try != "" {
			t.under("try: " + f.Try)
		}
	}
	t.out.WriteString("\n")
	t.notes(&d.Evidence)
	t.verdict(d.Findings)
	_, err := io.WriteString(w, t.out.String())
	return err
}

type table struct {
	out    strings.Builder
	colour bool
}

// head says what was looked at, and with what.
func (t *table) head(e *evidence.Evidence) {
	t.out.WriteString(e.Workload + "\n")
	var words []string
	if e.Took > 0 {
		words = append(words, "looked at for "+units.Time(e.Took))
	}
	if e.Ops > 0 {
		words = append(words, units.Count(e.Ops)+" operations")
	}
	if e.Bytes > 0 && e.Took > 0 {
		words = append(words, units.Rate(perSecond(e.Bytes, e.Took)))
	}
	if e.CPUTime > 0 && e.Took > 0 {
		words = append(words, fmt.Sprintf("%.2f processors busy", e.CPUTime.Seconds()/e.Took.Seconds()))
		if queued := e.Queued.Seconds() / e.Took.Seconds(); queued > 0.1 {
			words[len(words)-1] += fmt.Sprintf(" and %.2f waited for", queued)
		}
	}
	if len(words) > 0 {
		t.out.WriteString(strings.Join(words, ", ") + "\n")
	}
	for _, tool := range e.Tools {
		if tool.State == evidence.OK {
			continue
		}
		line := fmt.Sprintf("%s is %s", tool.Name, tool.State)
		if tool.State == evidence.Failed {
			line = tool.Name + " failed"
		}
		if tool.Note != "" {
			line += ": " + tool.Note
		}
		if advice := install[tool.Name]; tool.State == evidence.Missing && advice != "" && !strings.Contains(tool.Note, "install") {
			line += "; " + advice
		}
		t.lines(line)
	}
	t.out.WriteString("\n")
}

// notes says what a tool that worked has to say about how.
func (t *table) notes(e *evidence.Evidence) {
	some := false
	for _, tool := range e.Tools {
		if tool.State == evidence.OK && tool.Note != "" {
			t.lines(tool.Name + ": " + tool.Note)
			some = true
		}
	}
	if some {
		t.out.WriteString("\n")
	}
}

// lines writes text over the whole width.
func (t *table) lines(text string) {
	for _, l := range wrap(text, tableWidth) {
		t.out.WriteString(l + "\n")
	}
}

// install says how to get a tool that is missing.
var install = map[string]string{
	evidence.ToolStrace:     "on Debian and Ubuntu: apt-get install strace",
	evidence.ToolPerfStat:   "on Debian: apt-get install linux-perf",
	evidence.ToolPerfRecord: "on Debian: apt-get install linux-perf",
}

// row writes a line of the table. The rule stands at its right end, or below
// where it does not fit.
func (t *table) row(cost, tool, share, top, rule string) {
	line := fmt.Sprintf("%*s  %-*s %*s  ", costWidth, cost, toolWidth, tool, shareWidth, share)
	first, rest := "", []string(nil)
	if lines := wrap(top, tableWidth-indent); len(lines) > 0 {
		first, rest = lines[0], lines[1:]
	}
	line += first
	if rule != "" {
		gap := tableWidth - utf8.RuneCountInString(line) - utf8.RuneCountInString(rule)
		if gap >= 2 && len(rest) == 0 {
			line += strings.Repeat(" ", gap) + t.bold(rule)
			rule = ""
		}
	}
	t.out.WriteString(strings.TrimRight(line, " ") + "\n")
	for _, l := range rest {
		t.out.WriteString(strings.Repeat(" ", indent) + l + "\n")
	}
	if rule != "" {
		t.out.WriteString(strings.Repeat(" ", tableWidth-utf8.RuneCountInString(rule)) + t.bold(rule) + "\n")
	}
}

func (t *table) bold(text string) string {
	if !t.colour {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// under writes text below a row.
func (t *table) under(text string) {
	for _, l := range wrap(text, tableWidth-indent) {
		t.out.WriteString(strings.Repeat(" ", indent) + l + "\n")
	}
}

// verdict names what to mend first, or says that nothing stands out.
func (t *table) verdict(findings []Finding) {
	text := fmt.Sprintf("nothing stands out: no rule sees a cost of %s or more", units.Percent(Significant))
	if f, ok := First(findings); ok {
		text = fmt.Sprintf("first: %s in %s, which may cost %s of the time", t.bold(f.Rule), f.Top, units.Percent(f.Score))
	}
	t.lines(text)
}

// unit finds a number before its unit, which stay in one line.
var unit = regexp.MustCompile(`(\d) (%|B|KiB|MiB|kB|[MG]B(?:/s)?|[mµn]?s)\b?`)

// wrap breaks text between words into lines of at most width characters, and
// words that are longer.
func wrap(text string, width int) []string {
	var lines []string
	line, n := "", 0
	text = unit.ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1\u00a0$2")
	for _, word := range strings.Split(text, " ") {
		for utf8.RuneCountInString(word) > width {
			if n > 0 {
				lines = append(lines, line)
				line, n = "", 0
			}
			head := string([]rune(word)[:width])
			lines = append(lines, head)
			word = word[len(head):]
		}
		k := utf8.RuneCountInString(word)
		if n > 0 && n+1+k > width {
			lines = append(lines, line)
			line, n = "", 0
		}
		if n > 0 {
			line += " "
			n++
		}
		line += word
		n += k
	}
	if line != "" {
		lines = append(lines, line)
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "\u00a0", " ")
	}
	return lines
}
