// Package document is what results are written in: sections of paragraphs,
// tables, facts, charts and flame graphs, made once and given to a terminal and to
// an HTML page. What a report says is worded where the document is built;
// this package knows nothing of measuring.
//
// # Ownership and concurrency
//
// A document is the caller's. Writing one does not change it, so that several
// goroutines may write the same.
package document

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"math"
	"strings"
)

// A Style is what a text means; how it looks is decided where it is written.
type Style int

const (
	Plain Style = iota
	Good
	Bad
	Dim
	Bold
)

// A Section has a heading and items below it.
type Section struct {
	ID    string // of its place in the page; empty for none
	Title string
	Text  string // beside the title
	Level int    // 2 or 3
	Items []Item
}

// Add appends items and returns the section.
func (s *Section) Add(items ...Item) *Section {
	s.Items = append(s.Items, items...)
	return s
}

// An Item is a *Para, *Table, *Facts, *Chart, *Flame, *Fold or *Section.
type Item interface {
	Kind() string // the name of its template
}

// A Para is a paragraph, behind a mark if there is one: "MISSED".
type Para struct {
	Mark      string
	MarkStyle Style
	Text      string
	Style     Style
}

// Note is a paragraph of what is said beside.
func Note(text string) *Para { return &Para{Text: text, Style: Dim} }

// Say is a plain paragraph.
func Say(text string) *Para { return &Para{Text: text} }

// Fault is a paragraph that must not be overlooked.
func Fault(mark, text string) *Para { return &Para{Mark: mark, MarkStyle: Bad, Text: text} }

// Facts are names with their values.
type Facts struct{ List []Fact }

// A Fact is a name and what it is.
type Fact struct{ Name, Value string }

// Add appends a fact unless the value is empty.
func (f *Facts) Add(name, value string) {
	if value != "" {
		f.List = append(f.List, Fact{name, value})
	}
}

// A Column of a table. A terminal leaves out columns that do not fit, from the
// right, unless they are kept.
type Column struct {
	Name string
	Left bool // of words, not of numbers
	Keep bool
}

// Columns are columns of numbers behind one of words.
func Columns(names ...string) []Column {
	list := make([]Column, len(names))
	for i, name := range names {
		list[i] = Column{Name: name, Left: i == 0, Keep: true}
	}
	return list
}

// A Table is rows under a head.
type Table struct {
	Caption string
	Class   string // of the page's style sheet
	Columns []Column
	Rows    []Row
}

// A Row of a table, with lines of text below it.
type Row struct {
	Cells []Cell
	Base  bool // what the others are compared with
	Under []string
}

// A Cell is a text in a table.
type Cell struct {
	Text  string
	Style Style
	Class string // of the page's style sheet
	About string // on the page, when asked for
	Small string // on the page, below
	Bar   *Bar
}

// Texts are plain cells.
func Texts(texts ...string) Row {
	var r Row
	for _, text := range texts {
		r.Cells = append(r.Cells, Cell{Text: text})
	}
	return r
}

// Add appends a row.
func (t *Table) Add(texts ...string) { t.Rows = append(t.Rows, Texts(texts...)) }

// A Bar draws a ratio with its interval on a logarithmic axis around 1.
type Bar struct{ Median, Lo, Hi float64 }

// A Fold is what a page shows when asked for. A terminal does not have it.
type Fold struct {
	Title string
	Items []Item
}

func (*Section) Kind() string { return "section" }
func (*Para) Kind() string    { return "para" }
func (*Facts) Kind() string   { return "facts" }
func (*Table) Kind() string   { return "table" }
func (*Chart) Kind() string   { return "chart" }
func (*Flame) Kind() string   { return "flame" }
func (*Fold) Kind() string    { return "fold" }

var (
	//go:embed page.html
	pageSource string
	//go:embed style.css
	styleSource string
	//go:embed flame.js
	flameSource string
	page        = template.Must(template.New("page.html").Funcs(template.FuncMap{"class": class}).Parse(pageSource))
)

// A Page is an HTML page that opens without a network: style, script and plots stand in it.
type Page struct {
	Program  string // "lab bench"
	Title    string
	Head     []Item     // below the title
	Sections []*Section // each with a link at the top where it has an ID
}

// Write writes the page. Texts of the document stay texts, whatever they
// contain.
func (p *Page) Write(w io.Writer) error {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return page.Execute(w, struct {
		*Page
		Style  template.CSS
		Script template.JS
		// Policy forbids everything but the style and the script of this very page:
		// nothing is asked for from outside, and nothing that came out of a file can run.
		Policy string
	}{
		p, template.CSS(styleSource), template.JS(flameSource),
		"default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hash(styleSource) + "; script-src " + hash(flameSource),
	})
}

func class(s Style) string {
	return map[Style]string{Good: "less", Bad: "more", Dim: "soft", Bold: "strong"}[s]
}

// Classes are those of a cell.
func (c Cell) Classes() string { return strings.TrimSpace(class(c.Style) + " " + c.Class) }

// Sizes of a bar. Its ends are a quarter and four times.
const (
	barWidth = 120
	barMost  = 4
)

// X is the place of a ratio within a bar; what lies outside stands at the end.
func (b *Bar) X(ratio float64) float64 {
	part := math.Log(ratio) / math.Log(barMost)
	if math.IsNaN(part) {
		part = 0
	}
	return math.Round((barWidth/2+(barWidth/2-4)*min(1, max(-1, part)))*10) / 10
}
