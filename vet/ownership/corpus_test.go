package ownership_test

import (
	"fmt"
	"go/ast"
	"os"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/sluice-go/sluice/vet/internal/driver"
	"github.com/sluice-go/sluice/vet/internal/models"
	"github.com/sluice-go/sluice/vet/ownership"
)

const corpus = "../testdata/corpus"

// Programs that are loaded stay until the tests end: to collect garbage often finds little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

func newAnalyzer(t testing.TB, o ownership.Options) *analysis.Analyzer {
	t.Helper()
	a, err := ownership.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// corpusProgram is the whole corpus, loaded once.
var corpusProgram = sync.OnceValues(func() (*driver.Program, error) {
	// The corpus is a module of its own, outside the workspace.
	env := append(os.Environ(), "GOWORK=off")
	return driver.Load(driver.LoadOptions{Dir: corpus, Env: env}, models.Default().Package, "./...")
})

func loadCorpus(t *testing.T) *driver.Program {
	t.Helper()
	p, err := corpusProgram()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A want is what a line is expected to be reported for.
type want struct {
	pattern *regexp.Regexp
	found   bool
}

var wantComment = regexp.MustCompile("// want `([^`]*)`")

type line struct {
	file string
	n    int
}

// wants reads the comments: // want `pattern` on the line of a report, and
// // want-miss where a fault is that the tool does not find.
func wants(t *testing.T, p *driver.Program) (map[line]*want, map[line]bool) {
	t.Helper()
	list, misses := map[line]*want{}, map[line]bool{}
	for _, pkg := range p.Packages {
		for _, f := range pkg.Syntax {
			name := p.Fset.File(f.FileStart).Name()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range strings.Split(string(text), "\n") {
				at := line{name, i + 1}
				if m := wantComment.FindStringSubmatch(s); m != nil {
					list[at] = &want{pattern: regexp.MustCompile(m[1])}
				}
				if strings.HasSuffix(s, "// want-miss") {
					misses[at] = true
				}
			}
		}
	}
	return list, misses
}

// TestCorpus holds the reports against the comments: all that is wanted, and
// nothing else.
func TestCorpus(t *testing.T) {
	p := loadCorpus(t)
	found, err := p.Run(newAnalyzer(t, ownership.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	list, misses := wants(t, p)
	for _, d := range found {
		pos := p.Fset.Position(d.Pos)
		at := line{pos.Filename, pos.Line}
		w := list[at]
		switch {
		case w == nil && misses[at]:
			t.Errorf("%s: %s: found, so the line is no longer a miss", pos, d.Message)
		case w == nil:
			t.Errorf("%s: reported for nothing: %s", pos, d.Message)
		case !w.pattern.MatchString(d.Message):
			t.Errorf("%s: %q, want %q", pos, d.Message, w.pattern)
		}
		if w != nil {
			w.found = true
		}
	}
	for at, w := range list {
		if !w.found {
			t.Errorf("%s:%d: nothing reported, want %q", at.file, at.n, w.pattern)
		}
	}
	count(t, p, list, misses)
}

// TestSameEachTime: the search looks into maps, whose order changes.
func TestSameEachTime(t *testing.T) {
	p := loadCorpus(t)
	var before []analysis.Diagnostic
	for i := range 5 {
		found, err := p.Run(newAnalyzer(t, ownership.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && !reflect.DeepEqual(found, before) {
			t.Fatalf("run %d found %d reports, the one before %d, or other ones", i, len(found), len(before))
		}
		before = found
	}
}

// count prints how many of the faulty functions are found, and fails below 120
// functions or four in five.
func count(t *testing.T, p *driver.Program, list map[line]*want, misses map[line]bool) {
	faulty, hit := 0, 0
	for _, pkg := range p.Packages {
		if !strings.Contains(pkg.PkgPath, "/faulty/") {
			continue
		}
		for _, f := range pkg.Syntax {
			for _, decl := range f.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				begin, end := p.Fset.Position(fn.Pos()), p.Fset.Position(fn.End())
				has, is := false, false
				for n := begin.Line; n <= end.Line; n++ {
					at := line{begin.Filename, n}
					has = has || list[at] != nil || misses[at]
					is = is || list[at] != nil && list[at].found
				}
				if has {
					faulty++
				}
				if is {
					hit++
				}
			}
		}
	}
	fmt.Printf("corpus: %d of %d faulty functions found (%.0f %%)\n", hit, faulty, 100*float64(hit)/float64(max(faulty, 1)))
	if faulty < 120 || hit*5 < faulty*4 {
		t.Errorf("%d of %d faulty functions found, want at least 4 in 5 of at least 120", hit, faulty)
	}
}
