package ownership_test

import (
	"cmp"
	"flag"
	"go/format"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/sluice-go/sluice/vet/ownership"
)

var update = flag.Bool("update", false, "write the golden file of the suggested fixes")

// TestSuggestedFixes applies every fix in one package, holds the text against
// the golden file, and has the result checked: nothing is found any more.
func TestSuggestedFixes(t *testing.T) {
	p := loadCorpus(t)
	a := newAnalyzer(t, ownership.Options{})
	all, err := p.Run(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range p.Packages {
		if !strings.HasSuffix(pkg.PkgPath, "/mended") {
			continue
		}
		name := pkg.GoFiles[0]
		var edits []analysis.TextEdit
		for _, d := range all {
			if p.Fset.Position(d.Pos).Filename != name {
				continue
			}
			if len(d.SuggestedFixes) != 1 {
				t.Errorf("%s: %d fixes, want one", p.Fset.Position(d.Pos), len(d.SuggestedFixes))
				continue
			}
			edits = append(edits, d.SuggestedFixes[0].TextEdits...)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		mended, err := format.Source(apply(text, edits, p.Fset.File(pkg.Syntax[0].FileStart).Offset))
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join(filepath.Dir(name), "mended.golden")
		if *update {
			if err := os.WriteFile(golden, mended, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || string(want) != string(mended) {
			t.Errorf("%v; the mended text is\n%s", err, mended)
		}
		left, err := p.RunChanged(a, pkg, name, mended)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range left {
			t.Errorf("%s: still: %s", p.Fset.Position(d.Pos), d.Message)
		}
		return
	}
	t.Fatal("no package of faults that can be mended")
}

// apply makes each edit once, from the back to the front.
func apply(text []byte, edits []analysis.TextEdit, offset func(token.Pos) int) []byte {
	slices.SortStableFunc(edits, func(x, y analysis.TextEdit) int { return cmp.Compare(y.Pos, x.Pos) })
	for i, e := range edits {
		if i > 0 && e.Pos == edits[i-1].Pos && string(e.NewText) == string(edits[i-1].NewText) {
			continue
		}
		text = slices.Concat(text[:offset(e.Pos)], e.NewText, text[offset(e.End):])
	}
	return text
}
