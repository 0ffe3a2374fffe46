package document

import (
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Text stays within mostWidth columns of a terminal, in which lines are read with ease, or within what a
// narrower one has, down to leastWidth.
const (
	mostWidth  = 100
	leastWidth = 30
)

// A Printer writes items for a terminal or a pipe. Errors of the writer are kept
// and returned by Err. It is used by one goroutine.
type Printer struct {
	w      io.Writer
	colour bool
	width  int // of text, and of a table with columns that can be left out
	most   int // of a table, 0 for any: in a pipe it has a line for each row
	err    error
}

// NewPrinter returns a printer to w, with colours only if asked for.
func NewPrinter(w io.Writer, colour bool) *Printer {
	return &Printer{w: w, colour: colour, width: mostWidth}
}

// Within makes p, which it returns, fit a terminal of so many columns; 0 is not known.
func (p *Printer) Within(columns int) *Printer {
	if columns > 0 {
		p.most = max(leastWidth, columns)
		p.width = min(p.most, mostWidth)
	}
	return p
}

// Err returns the first error of the writer.
func (p *Printer) Err() error { return p.err }

// Print writes items one below the other.
func (p *Printer) Print(items ...Item) {
	for _, item := range items {
		switch x := item.(type) {
		case *Para:
			mark := ""
			if x.Mark != "" {
				mark = x.Mark + "  "
			}
			p.wrapped(mark, x.MarkStyle, x.Text, x.Style)
		case *Facts:
			p.facts(x)
		case *Table:
			p.table(x)
		case *Section:
			p.line("")
			if x.Title != "" {
				p.wrapped(x.Title+"  ", Bold, x.Text, Plain)
			}
			p.Print(x.Items...)
		}
	}
}

func (p *Printer) line(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, strings.TrimRight(text, " ")+"\n")
	}
}

// codes are the basic colours, which every theme of a terminal makes readable.
var codes = map[Style]string{Good: "32", Bad: "31", Dim: "2", Bold: "1"}

func (p *Printer) paint(text string, s Style) string {
	if !p.colour || text == "" || codes[s] == "" {
		return text
	}
	return "\x1b[" + codes[s] + "m" + text + "\x1b[0m"
}

// wrapped writes a text behind a mark, with later lines indented as far.
func (p *Printer) wrapped(mark string, markStyle Style, text string, style Style) {
	marked := utf8.RuneCountInString(mark)
	indent := min(marked, p.width/2, 30)
	lines := wrap(text, p.width-indent)
	if len(lines) == 0 || marked+utf8.RuneCountInString(lines[0]) > p.width {
		lines = append([]string{""}, lines...)
	}
	for i, line := range lines {
		if i == 0 {
			p.line(p.paint(mark, markStyle) + p.paint(line, style))
		} else {
			p.line(strings.Repeat(" ", indent) + p.paint(line, style))
		}
	}
}

func (p *Printer) facts(f *Facts) {
	longest := 0
	for _, x := range f.List {
		longest = max(longest, utf8.RuneCountInString(x.Name))
	}
	for _, x := range f.List {
		p.wrapped(x.Name+strings.Repeat(" ", longest-utf8.RuneCountInString(x.Name)+2), Dim, x.Value, Plain)
	}
}

func (t *Table) shown(room int) (shown []int, widths []int) {
	widths = make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = utf8.RuneCountInString(c.Name)
		for _, r := range t.Rows {
			if i < len(r.Cells) {
				widths[i] = max(widths[i], utf8.RuneCountInString(OneLine(r.Cells[i].Text)))
			}
		}
	}
	for i, c := range t.Columns {
		if c.Keep {
			room -= widths[i] + 2
		}
	}
	full := false
	for i, c := range t.Columns {
		if !c.Keep {
			if full = full || widths[i]+2 > room; full {
				continue
			}
			room -= widths[i] + 2
		}
		shown = append(shown, i)
	}
	return shown, widths
}

func (p *Printer) table(t *Table) {
	if t.Caption != "" {
		p.line("")
		p.wrapped("", Plain, t.Caption, Bold)
	}
	shown, widths := t.shown(p.width)
	all := 0
	for _, i := range shown {
		all += widths[i] + 2
	}
	if p.most > 0 && all > p.most {
		p.stacked(t, shown)
		return
	}
	put := func(cell func(i int) Cell) {
		var b strings.Builder
		for _, i := range shown {
			c := cell(i)
			text := OneLine(c.Text)
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if t.Columns[i].Left {
				b.WriteString("  " + p.paint(text, c.Style) + space)
			} else {
				b.WriteString("  " + space + p.paint(text, c.Style))
			}
		}
		p.line(b.String())
	}
	put(func(i int) Cell { return Cell{Text: t.Columns[i].Name, Style: Dim} })
	for _, r := range t.Rows {
		put(func(i int) Cell {
			if i >= len(r.Cells) {
				return Cell{}
			}
			return r.Cells[i]
		})
		p.under(r)
	}
}

func (p *Printer) under(r Row) {
	for _, text := range r.Under {
		p.wrapped("        ", Plain, text, Plain)
	}
}

func (p *Printer) stacked(t *Table, shown []int) {
	for n, r := range t.Rows {
		if n > 0 {
			p.line("")
		}
		f := &Facts{}
		for _, i := range shown {
			if i < len(r.Cells) {
				f.Add(t.Columns[i].Name, r.Cells[i].Text)
			}
		}
		p.facts(f)
		p.under(r)
	}
}

// OneLine takes line ends out of a text that may come out of a file.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// unit finds a number before its unit, which stay in one line.
var unit = regexp.MustCompile(`(\d) (%|B|KiB|MiB|GiB|[kMG]?B/s|[mµn]?s)\b?`)

func wrap(text string, most int) (lines []string) {
	n := 0
	for _, word := range strings.Fields(unit.ReplaceAllString(text, "$1\u200b$2")) {
		letters := []rune(strings.ReplaceAll(word, "\u200b", " "))
		for ; len(letters) > most; letters = letters[most:] {
			lines, n = append(lines, string(letters[:most])), most
		}
		if n > 0 && n+1+len(letters) <= most {
			lines[len(lines)-1] += " " + string(letters)
			n += 1 + len(letters)
		} else {
			lines, n = append(lines, string(letters)), len(letters)
		}
	}
	return lines
}
