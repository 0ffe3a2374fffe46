package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readmes say the same in two languages.
var readmes = [2]string{"README.md", "README.zh-CN.md"}

// everyReadmeShows are the commands that a visitor must find, as a line of a
// code block.
var everyReadmeShows = []string{"go run ./lab bench", "make test"}

// figuresBegin and figuresEnd enclose the measured figures.
const (
	figuresBegin = "<!-- figures -->"
	figuresEnd   = "<!-- /figures -->"
)

// A document is what must be in step between translations.
type document struct {
	headings []int    // levels, in order
	blocks   []string // fenced code blocks with their fences
	links    []string // targets, sorted: word order differs between languages
	figures  []string // the rows of numbers between the figure marks
}

var (
	markdownLink = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	number       = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)*`)
)

func parseMarkdown(text string) (document, error) {
	var d document
	var block strings.Builder
	fence := ""
	inFigures, figureMarks := false, 0
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		mark := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		switch {
		case fence != "":
			block.WriteString(line)
			if trimmed == fence {
				d.blocks = append(d.blocks, block.String())
				fence = ""
			}
			continue
		case len(mark) >= 3:
			fence = mark
			block.Reset()
			block.WriteString(line)
			continue
		case trimmed == figuresBegin || trimmed == figuresEnd:
			if inFigures == (trimmed == figuresBegin) {
				return d, fmt.Errorf("%q out of order", trimmed)
			}
			inFigures = !inFigures
			figureMarks++
		}
		text := strings.TrimLeft(line, "#")
		if level := len(line) - len(text); level > 0 && strings.HasPrefix(text, " ") {
			d.headings = append(d.headings, level)
		}
		for _, m := range markdownLink.FindAllStringSubmatch(line, -1) {
			target := m[1]
			if slices.Contains(readmes[:], target) {
				target = "the other language"
			}
			d.links = append(d.links, target)
		}
		if inFigures && strings.HasPrefix(trimmed, "|") {
			if row := number.FindAllString(line, -1); row != nil {
				d.figures = append(d.figures, strings.Join(row, " "))
			}
		}
	}
	slices.Sort(d.links)
	if fence != "" {
		return d, errors.New("a code block is not closed")
	}
	if figureMarks != 2 || inFigures {
		return d, fmt.Errorf("want one %s and one %s", figuresBegin, figuresEnd)
	}
	return d, nil
}

// stepFaults says in what two translations differ.
func stepFaults(a, b document) []string {
	var faults []string
	if !slices.Equal(a.headings, b.headings) {
		faults = append(faults, fmt.Sprintf("heading levels %v and %v", a.headings, b.headings))
	}
	for _, part := range []struct {
		what string
		a, b []string
	}{
		{"code block", a.blocks, b.blocks},
		{"link", a.links, b.links},
		{"row of figures", a.figures, b.figures},
	} {
		for i := range max(len(part.a), len(part.b)) {
			x, y := "nothing", "nothing"
			if i < len(part.a) {
				x = part.a[i]
			}
			if i < len(part.b) {
				y = part.b[i]
			}
			if x != y {
				faults = append(faults, fmt.Sprintf("%s %d: %q and %q", part.what, i+1, x, y))
				break
			}
		}
	}
	return faults
}

func hasCommand(blocks []string, command string) bool {
	for _, block := range blocks {
		for line := range strings.Lines(block) {
			if strings.HasPrefix(strings.TrimSpace(line), command) {
				return true
			}
		}
	}
	return false
}

func TestReadmesAreInStep(t *testing.T) {
	var docs [2]document
	for i, name := range readmes {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if docs[i], err = parseMarkdown(string(text)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, command := range everyReadmeShows {
			if !hasCommand(docs[i].blocks, command) {
				t.Errorf("%s shows no line %q in a code block", name, command)
			}
		}
	}
	for _, f := range stepFaults(docs[0], docs[1]) {
		t.Errorf("%s and %s differ: %s", readmes[0], readmes[1], f)
	}
}

func TestStepRuleBites(t *testing.T) {
	const base = "# A\n[b](README.zh-CN.md) [d](docs/d.md)\n## B\n```sh\nmake test # all\n# not a heading\n[x](y)\n```\n" +
		figuresBegin + "\n| n | 1.5 |\n" + figuresEnd + "\n"
	want, err := parseMarkdown(base)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(want.headings, []int{1, 2}) || len(want.blocks) != 1 || len(want.links) != 2 || len(want.figures) != 1 {
		t.Fatalf("parsed %+v", want)
	}
	if !hasCommand(want.blocks, "make test") || hasCommand(want.blocks, "make lint") {
		t.Error("the command in the block is not recognised")
	}
	for _, c := range []struct {
		old, new string
		faults   int
	}{
		{"# A\n", "# 甲\n", 0},
		{"(README.zh-CN.md)", "(README.md)", 0},
		{"[b](README.zh-CN.md) [d](docs/d.md)", "[d](docs/d.md) [b](README.md)", 0},
		{"| n |", "| 数 |", 0},
		{"## B", "### B", 1},
		{"## B\n", "", 1},
		{"# all", "# 全部", 1},
		{"docs/d.md", "docs/e.md", 1},
		{"1.5", "1.4", 1},
	} {
		got, err := parseMarkdown(strings.Replace(base, c.old, c.new, 1))
		if err != nil {
			t.Errorf("%q: %v", c.new, err)
		} else if faults := stepFaults(want, got); len(faults) != c.faults {
			t.Errorf("%q for %q: faults %q, want %d", c.new, c.old, faults, c.faults)
		}
	}
	for _, broken := range []string{figuresBegin + "\n", figuresEnd + "\n" + figuresBegin + "\n", "```\n", ""} {
		if _, err := parseMarkdown(broken); err == nil {
			t.Errorf("%q is accepted", broken)
		}
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	err := walk(func(name string) error {
		if path.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		for _, m := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, ":") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, path.Dir(name), target)); errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s links to %s, which is not there", name, target)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
