package policy

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// handsBytes matches the signature of a function that takes or returns bytes.
	handsBytes = regexp.MustCompile(`\[\]byte|\bBuf\b|\bSlab\b|\*(mem\.)?Memory\b|\bTag\b|\bMessage\b`)
	// saysWhose matches a comment that says whose bytes are whose.
	saysWhose = regexp.MustCompile(`\b(borrow|retain|transfer|release|view|cop(y|ies|ied)\b)`)
	// refers matches one that says it by another function: TryGet is Get within the budget.
	refers = regexp.MustCompile(`^\w+ (is( what)?( the function)?|returns) [A-Z]\w+`)
)

// README.md says that the comment of each function that touches bytes has one of the three
// words.
func TestCommentsSayWhoseBytesAre(t *testing.T) {
	for dir := range floors() {
		if strings.Contains(dir, "internal") || dir == "live" {
			continue // of live the bytes are frames, which its package comment is about
		}
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range silentAboutBytes(t, name, text) {
				t.Errorf("%s: the comment of %s does not say whose the bytes are: borrowed, retained, transferred", dir, f)
			}
		}
	}
}

// silentAboutBytes lists the exported functions whose comments do not say whose bytes are whose.
func silentAboutBytes(t *testing.T, name string, text []byte) (list []string) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	shown := func(n ast.Node) string {
		var b bytes.Buffer
		if err := printer.Fprint(&b, fset, n); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || !fn.Name.IsExported() || strings.HasPrefix(fn.Name.Name, "Marshal") {
			continue
		}
		full := fn.Name.Name
		if fn.Recv != nil {
			of := strings.TrimLeft(shown(fn.Recv.List[0].Type), "*")
			if !ast.IsExported(of) {
				continue
			}
			full = of + "." + full
		}
		doc := strings.Join(strings.Fields(fn.Doc.Text()), " ")
		if handsBytes.MatchString(shown(fn.Type)) && !saysWhose.MatchString(doc) && !refers.MatchString(doc) {
			list = append(list, full)
		}
	}
	return list
}

func TestCommentsThatAreSilentAreFound(t *testing.T) {
	for text, found := range map[string]bool{
		"// A takes p.\nfunc A(p []byte) {}":                            true,
		"// B takes p, transferred.\nfunc B(p []byte) {}":               false,
		"// C is Get twice.\nfunc C(p []byte) {}":                       false,
		"// Read fills p.\nfunc (b *Buf) Read(p []byte) {}":             true,
		"// Read fills p.\nfunc (b *inner) Read(p []byte) {}":           false,
		"// Len is a number.\nfunc Len() int { return 0 }":              false,
		"// Cut cuts.\nfunc (s *Slab) Cut() mem.Buf { panic(\"\") }":    true,
		"// Cut cuts, retained.\nfunc (s *Slab) Cut() (b mem.Buf) {}\n": false,
	} {
		if got := len(silentAboutBytes(t, "a.go", []byte("package a\n"+text))) == 1; got != found {
			t.Errorf("%q: found is %v", text, got)
		}
	}
}
