package report

import (
	"strings"
	"unicode/utf8"
)

// A style is what a cell means; whether it has a colour is decided when it is
// printed.
type style int

const (
	stylePlain style = iota
	styleGood
	styleBad
	styleDim
	styleBold
)

type cell struct {
	text  string
	style style
}

// A grid is aligned columns of cells under a head.
type grid struct {
	heads []string
	left  []bool // aligned to the left
	rows  [][]cell
}

func (g *grid) head(left bool, names ...string) {
	for _, name := range names {
		g.heads = append(g.heads, name)
		g.left = append(g.left, left)
	}
}

func (g *grid) lines(p paint) []string {
	widths := make([]int, len(g.heads))
	for i, name := range g.heads {
		widths[i] = utf8.RuneCountInString(name)
	}
	for _, row := range g.rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	pad := func(i int, c cell) string {
		space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text))
		text := p.style(c.text, c.style)
		if g.left[i] {
			return text + space
		}
		return space + text
	}
	var lines []string
	put := func(row []cell) {
		var b strings.Builder
		for i, c := range row {
			b.WriteString("  ")
			b.WriteString(pad(i, c))
		}
		lines = append(lines, b.String())
	}
	var head []cell
	for _, name := range g.heads {
		head = append(head, cell{name, styleDim})
	}
	put(head)
	for _, row := range g.rows {
		put(row)
	}
	return lines
}

// paint puts colours around text, or nothing. The codes are the eight basic
// colours, which every theme of a terminal makes readable.
type paint bool

func (p paint) code(text, code string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p paint) bold(text string) string { return p.code(text, "1") }
func (p paint) dim(text string) string  { return p.code(text, "2") }
func (p paint) good(text string) string { return p.code(text, "32") }
func (p paint) bad(text string) string  { return p.code(text, "31") }

func (p paint) style(text string, s style) string {
	switch s {
	case styleGood:
		return p.good(text)
	case styleBad:
		return p.bad(text)
	case styleDim:
		return p.dim(text)
	case styleBold:
		return p.bold(text)
	}
	return text
}
