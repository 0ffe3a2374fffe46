package document

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"math"
	"strings"
)

//go:embed page.html style.css flame.js
var assets embed.FS

var (
	styleSource = asset("style.css")
	flameSource = asset("flame.js")
	page        = template.Must(template.New("page.html").Funcs(template.FuncMap{"class": class}).ParseFS(assets, "page.html"))
)

func asset(name string) string {
	text, err := assets.ReadFile(name)
	if err != nil {
		panic("document: " + err.Error()) // it is part of the program
	}
	return string(text)
}

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
