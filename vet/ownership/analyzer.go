package ownership

import (
	"errors"
	"flag"
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
	"github.com/sluice-go/sluice/vet/internal/flow"
	"github.com/sluice-go/sluice/vet/internal/models"
)

// Options configure an analyzer.
type Options struct {
	// Models is a file that adds to the built-in table of who lends, keeps and
	// takes memory; empty is none. docs/library/vet.md has its format.
	Models string
	// Tests looks at files that end in _test.go too, which by default are left
	// alone: tests misuse memory on purpose.
	Tests bool
}

// New returns an analyzer. An error says what is wrong in the models' file, with
// its lines.
func New(o Options) (*analysis.Analyzer, error) {
	table := models.Default()
	if o.Models != "" {
		if err := table.Load(o.Models); err != nil {
			return nil, err
		}
	}
	return analyzer(func() (*models.Table, bool, error) { return table, o.Tests, nil }), nil
}

// WithFlags returns an analyzer that takes its options from flags: models, which
// has to be an absolute path because go vet runs a tool in each package's
// directory, and tests.
func WithFlags(flags *flag.FlagSet) *analysis.Analyzer {
	var o Options
	flags.StringVar(&o.Models, "models", "", "a `file`, with its absolute path, that adds to the table of models")
	flags.BoolVar(&o.Tests, "tests", false, "look at _test.go files too")
	load := sync.OnceValues(func() (*models.Table, error) {
		table := models.Default()
		if o.Models == "" {
			return table, nil
		}
		return table, table.Load(o.Models)
	})
	return analyzer(func() (*models.Table, bool, error) {
		table, err := load()
		return table, o.Tests, err
	})
}

func analyzer(config func() (*models.Table, bool, error)) *analysis.Analyzer {
	var compared sync.Map // packages, with what the user's file names
	return &analysis.Analyzer{
		Name:       "sluicevet",
		Doc:        doc,
		URL:        "https://pkg.go.dev/github.com/sluice-go/sluice/vet/ownership",
		FactTypes:  []analysis.Fact{new(effectsFact), new(lookedAtFact)},
		ResultType: reflect.TypeFor[[]Finding](),
		Run: func(pass *analysis.Pass) (any, error) {
			table, tests, err := config()
			if err != nil {
				return nil, err
			}
			if err := compare(pass.Pkg, table, &compared); err != nil {
				return nil, err
			}
			return run(pass, table, tests), nil
		},
	}
}

// compare returns what the user's file names and pkg, or what pkg imports, does not
// have: once for each package.
func compare(pkg *types.Package, table *models.Table, compared *sync.Map) error {
	var errs []error
	for _, p := range append(slices.Clone(pkg.Imports()), pkg) {
		if _, done := compared.LoadOrStore(p.Path(), true); !done {
			errs = append(errs, table.Missing(p, p != pkg))
		}
	}
	return errors.Join(errs...)
}

// Finding is a fault, as the analyzer's result lists them.
type Finding = flow.Finding

// effectsFact is what a call of a function does.
type effectsFact struct{ List []effect.Effect }

func (*effectsFact) AFact() {}

func (f *effectsFact) String() string {
	var list []string
	for _, e := range f.List {
		list = append(list, e.String())
	}
	return strings.Join(list, ", ")
}

// lookedAtFact says that a package was looked at: functions without an
// effectsFact have no effect.
type lookedAtFact struct{}

func (*lookedAtFact) AFact()         {}
func (*lookedAtFact) String() string { return "looked at" }

func run(pass *analysis.Pass, table *models.Table, tests bool) []Finding {
	pass.ExportPackageFact(new(lookedAtFact))
	if !interesting(pass, table) {
		return nil
	}
	a := flow.New(table, pass.Fset, func(f *types.Func) ([]effect.Effect, bool) {
		var fact effectsFact
		if pass.ImportObjectFact(f, &fact) {
			return fact.List, true
		}
		return nil, f.Pkg() != nil && pass.ImportPackageFact(f.Pkg(), new(lookedAtFact))
	})
	skip := ignored(pass)
	var all []Finding
	for fn := range functions(pass, build(pass)) {
		findings, effects := a.Function(fn)
		if f, ok := fn.Object().(*types.Func); ok && len(effects) > 0 {
			if _, modelled := table.Func(f); !modelled {
				pass.ExportObjectFact(f, &effectsFact{effects})
			}
		}
		for _, f := range findings {
			file := pass.Fset.Position(f.Pos)
			if !tests && strings.HasSuffix(file.Filename, "_test.go") || skip[place{file.Filename, file.Line}] {
				continue
			}
			all = append(all, f)
			pass.Report(diagnostic(pass, f))
		}
	}
	return all
}

// interesting reports whether the package uses anything that the table or a
// fact knows: most do not, and are done.
func interesting(pass *analysis.Pass, table *models.Table) bool {
	known := map[*types.Func]bool{}
	for _, obj := range pass.TypesInfo.Uses {
		switch obj := obj.(type) {
		case *types.Func:
			if known[obj] {
				continue
			}
			known[obj] = true
			list, _ := table.Func(obj)
			if len(list) > 0 {
				return true
			}
			if obj.Pkg() != nil && obj.Pkg() != pass.Pkg && pass.ImportObjectFact(obj.Origin(), new(effectsFact)) {
				return true
			}
		case *types.TypeName:
			if table.Type(obj.Type()) != models.Plain {
				return true
			}
		}
	}
	return false
}

// build makes the package's code ready for flow.
func build(pass *analysis.Pass) *ssa.Package {
	prog := ssa.NewProgram(pass.Fset, 0)
	for _, p := range pass.Pkg.Imports() {
		prog.CreatePackage(p, nil, nil, true)
	}
	pkg := prog.CreatePackage(pass.Pkg, pass.Files, pass.TypesInfo, false)
	pkg.Build()
	return pkg
}

// functions yields the declared functions and the literals within them, in the
// order of the source.
func functions(pass *analysis.Pass, pkg *ssa.Package) func(func(*ssa.Function) bool) {
	return func(yield func(*ssa.Function) bool) {
		var walk func(fn *ssa.Function) bool
		walk = func(fn *ssa.Function) bool {
			if !yield(fn) {
				return false
			}
			for _, anon := range fn.AnonFuncs {
				if !walk(anon) {
					return false
				}
			}
			return true
		}
		for _, file := range pass.Files {
			for _, decl := range file.Decls {
				decl, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				obj, ok := pass.TypesInfo.Defs[decl.Name].(*types.Func)
				if !ok {
					continue
				}
				if fn := pkg.Prog.FuncValue(obj); fn != nil && !walk(fn) {
					return
				}
			}
		}
		if init := pkg.Func("init"); init != nil {
			walk(init)
		}
	}
}

type place struct {
	file string
	line int
}

// ignored are the lines with a comment //sluicevet:ignore REASON, on the line or
// on the one above.
func ignored(pass *analysis.Pass) map[place]bool {
	lines := map[place]bool{}
	for _, file := range pass.Files {
		for _, group := range file.Comments {
			for _, c := range group.List {
				reason, ok := strings.CutPrefix(c.Text, "//sluicevet:ignore ")
				if !ok || strings.TrimSpace(reason) == "" {
					continue
				}
				p := pass.Fset.Position(c.Pos())
				lines[place{p.Filename, p.Line}] = true
				lines[place{p.Filename, p.Line + 1}] = true
			}
		}
	}
	return lines
}
