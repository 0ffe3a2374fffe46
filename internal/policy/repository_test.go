package policy

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	module = "github.com/sluice-go/sluice"
	root   = "../.."
)

// programs are the modules beside the library: the program that people deploy, the
// one that they measure with, and the one that checks the ownership of memory.
var programs = []string{"cmd", "lab", "vet"}

// A source is a parsed Go file of any module, whatever its build tags.
type source struct {
	path string // from the repository root, with slashes
	fset *token.FileSet
	file *ast.File
}

// pkg is the directory of the file: "." for the root package.
func (s source) pkg() string { return path.Dir(s.path) }

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// program is the module beside the library that the file is in, or empty.
func (s source) program() string {
	for _, p := range programs {
		if inTree(s.path, p) {
			return p
		}
	}
	return ""
}

func (s source) inProgram() bool { return s.program() != "" }

func (s source) line(p token.Pos) int { return s.fset.Position(p).Line }

// imports lists the import paths of the file.
func (s source) imports() []string {
	var list []string
	for _, spec := range s.file.Imports {
		list = append(list, strings.Trim(spec.Path.Value, "\"`"))
	}
	return list
}

func parseSource(name string, text []byte) (source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{name, fset, file}, err
}

// mustParse is for the snippets on which the rules are tried.
func mustParse(t *testing.T, name, text string) source {
	t.Helper()
	s, err := parseSource(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sources parses every Go file of the repository, once.
var sources = sync.OnceValues(func() ([]source, error) {
	var list []source
	err := walk(func(name string) error {
		if !strings.HasSuffix(name, ".go") || strings.Contains(name, "testdata/") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		s, err := parseSource(name, text)
		list = append(list, s)
		return err
	})
	return list, err
})

func allSources(t *testing.T) []source {
	t.Helper()
	list, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatal("no Go file found: the rules would hold for nothing")
	}
	return list
}

func librarySources(t *testing.T) []source {
	var list []source
	for _, s := range allSources(t) {
		if !s.inProgram() {
			list = append(list, s)
		}
	}
	return list
}

// walk calls f for every file of the repository, leaving out what .gitignore
// names, so that profiles and reports lying about do not count.
func walk(f func(name string) error) error {
	ignore, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	ignored := ignoreRules(string(ignore))
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) {
				return nil // a file that went away while we walked
			}
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		switch {
		case name == ".":
			return nil
		case d.IsDir() && (d.Name() == ".git" || ignored(name)):
			return filepath.SkipDir
		case !d.Type().IsRegular() || ignored(name) || name == ".git": // a file in a worktree
			return nil
		}
		return f(name)
	})
}

// ignoreRules understands as much of .gitignore as this repository uses: a
// pattern with a leading slash is held against the whole path, any other
// against the last element; a trailing slash means nothing more.
func ignoreRules(text string) func(name string) bool {
	var patterns []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSpace(line), "/")
		if line != "" && line[0] != '#' {
			patterns = append(patterns, line)
		}
	}
	return func(name string) bool {
		for _, pattern := range patterns {
			subject := path.Base(name)
			if pattern[0] == '/' {
				subject = "/" + name
			}
			if ok, _ := path.Match(pattern, subject); ok {
				return true
			}
		}
		return false
	}
}

func isText(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), 8000)], 0) < 0
}

func TestIgnoreRules(t *testing.T) {
	ignored := ignoreRules("# outputs\n*.prof\n/bin/\n/report*.html\n")
	for name, want := range map[string]bool{
		"cpu.prof": true, "mem/heap.prof": true, "bin": true, "cmd/bin": false,
		"report-1.html": true, "cmd/report.html": false, "README.md": false, "# outputs": false,
	} {
		if ignored(name) != want {
			t.Errorf("ignored(%q) = %v", name, !want)
		}
	}
}
