package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const goVersion = "1.25.0"

// libraryMayRequire are the modules that a user of the library gets with it.
var libraryMayRequire = []string{"golang.org/x/sys"}

// labOnly are what the lab compares with or measures with: those who deploy the
// relay do not get it.
var labOnly = []string{
	"github.com/bytedance", "github.com/cloudwego",
	"github.com/hashicorp", "github.com/boltdb", "go.etcd.io",
	"github.com/HdrHistogram", "github.com/google/pprof",
}

// testsOnly are required by the relay for its tests.
var testsOnly = []string{"github.com/chromedp"}

// directives splits a go.mod or go.work into its directives, with the verb of
// a block put before each of its lines.
func directives(text string) [][]string {
	var list [][]string
	var block []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case fields[0] == ")":
			block = nil
		case fields[len(fields)-1] == "(":
			block = fields[:len(fields)-1]
		default:
			list = append(list, slices.Concat(block, fields))
		}
	}
	return list
}

// modFaults holds a go.mod or go.work against the rules.
func modFaults(name, text string) []string {
	var faults []string
	sawGo, library := false, name == "go.mod"
	for _, d := range directives(text) {
		switch {
		case d[0] == "go":
			sawGo = true
			if len(d) != 2 || d[1] != goVersion {
				faults = append(faults, fmt.Sprintf("%s: %q, want go %s: the last two releases of Go must do", name, strings.Join(d, " "), goVersion))
			}
		case d[0] == "toolchain":
			faults = append(faults, fmt.Sprintf("%s: %q makes people fetch another Go", name, strings.Join(d, " ")))
		case name != "go.work" && d[0] == "replace":
			faults = append(faults, fmt.Sprintf("%s: %q: go install refuses it; go.work is for development", name, strings.Join(d, " ")))
		case name == "cmd/go.mod" && d[0] == "require" && underAny(d[1], labOnly):
			faults = append(faults, fmt.Sprintf("%s: requires %s, which is the lab's", name, d[1]))
		case library && (d[0] == "require" || d[0] == "tool") && !slices.Contains(libraryMayRequire, d[1]):
			faults = append(faults, fmt.Sprintf("%s: requires %s, and so would everybody who imports the library", name, d[1]))
		}
	}
	if !sawGo {
		faults = append(faults, name+": no go directive")
	}
	return faults
}

func underAny(name string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool { return inTree(name, tree) })
}

func TestModuleFiles(t *testing.T) {
	for _, name := range []string{"go.mod", "cmd/go.mod", "lab/go.mod", "vet/go.mod", "go.work"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) && name != "go.mod" {
			t.Logf("%s is not here: the library was unpacked alone", name)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range modFaults(name, string(text)) {
			t.Error(f)
		}
	}
}

func TestProgramsRequireOneVersionOfTheLibrary(t *testing.T) {
	versions := map[string]string{}
	for _, name := range []string{"cmd/go.mod", "lab/go.mod", "go.work"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("the library was unpacked alone")
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range directives(string(text)) {
			if (d[0] == "require" || d[0] == "replace") && d[1] == module {
				versions[name] = d[2]
			}
		}
	}
	if v := versions["go.work"]; v == "" || versions["cmd/go.mod"] != v || versions["lab/go.mod"] != v {
		t.Errorf("the versions of the library differ: %v", versions)
	}
}

func TestRelayIsBuiltWithoutWhatItsTestsNeed(t *testing.T) {
	for _, s := range allSources(t) {
		for _, imp := range s.imports() {
			if s.program() == "cmd" && !s.isTest() && underAny(imp, testsOnly) {
				t.Errorf("%s imports %s, which is for tests", s.path, imp)
			}
		}
	}
}

func TestModuleRulesBite(t *testing.T) {
	for _, c := range []struct {
		name   string
		text   string
		faults int
	}{
		{"go.mod", "module m\n\ngo 1.25.0\n\nrequire golang.org/x/sys v0.40.0 // indirect\n", 0},
		{"go.mod", "module m\ngo 1.25.0\nrequire (\n\tgolang.org/x/sys v0.40.0\n\texample.com/a v1.0.0\n)\n", 1},
		{"lab/go.mod", "module m\ngo 1.25.0\nrequire (\n\texample.com/a v1.0.0\n)\n", 0},
		{"go.mod", "module m\ngo 1.25\n", 1},
		{"cmd/go.mod", "module m\ngo 1.26.0\ntoolchain go1.26.1\n", 2},
		{"cmd/go.mod", "module m\n", 1},
		{"go.mod", "module m\ngo 1.25.0\nreplace example.com/a => ../a\n", 1},
		{"cmd/go.mod", "module m\ngo 1.25.0\nreplace (\n\texample.com/a => ../a\n)\n", 1},
		{"go.work", "go 1.25.0\nreplace example.com/a v1.0.0 => ./a\n", 0},
		{"cmd/go.mod", "module m\ngo 1.25.0\nrequire github.com/hashicorp/raft v1.0.0 // indirect\n", 1},
		{"lab/go.mod", "module m\ngo 1.25.0\nrequire github.com/hashicorp/raft v1.0.0\n", 0},
		{"go.mod", "module m\ngo 1.25.0\ntool example.com/a/cmd/a\n", 1},
	} {
		if got := modFaults(c.name, c.text); len(got) != c.faults {
			t.Errorf("%s: %q: faults %q, want %d", c.name, c.text, got, c.faults)
		}
	}
}
