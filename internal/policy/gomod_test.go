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

// modFaults holds a go.mod or go.work against the rules; only the library's
// requirements are limited.
func modFaults(name, text string, library bool) []string {
	var faults []string
	sawGo := false
	for _, d := range directives(text) {
		switch {
		case d[0] == "go":
			sawGo = true
			if len(d) != 2 || d[1] != goVersion {
				faults = append(faults, fmt.Sprintf("%s: %q, want go %s: the last two releases of Go must do", name, strings.Join(d, " "), goVersion))
			}
		case d[0] == "toolchain":
			faults = append(faults, fmt.Sprintf("%s: %q makes people fetch another Go", name, strings.Join(d, " ")))
		case library && d[0] == "replace":
			faults = append(faults, fmt.Sprintf("%s: %q has no effect for users of the library", name, strings.Join(d, " ")))
		case library && (d[0] == "require" || d[0] == "tool") && !slices.Contains(libraryMayRequire, d[1]):
			faults = append(faults, fmt.Sprintf("%s: requires %s, and so would everybody who imports the library", name, d[1]))
		}
	}
	if !sawGo {
		faults = append(faults, name+": no go directive")
	}
	return faults
}

func TestModuleFiles(t *testing.T) {
	for _, name := range []string{"go.mod", "cmd/go.mod", "go.work"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) && name != "go.mod" {
			t.Logf("%s is not here: the library was unpacked alone", name)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range modFaults(name, string(text), name == "go.mod") {
			t.Error(f)
		}
	}
}

func TestModuleRulesBite(t *testing.T) {
	for _, c := range []struct {
		text    string
		library bool
		faults  int
	}{
		{"module m\n\ngo 1.25.0\n\nrequire golang.org/x/sys v0.40.0 // indirect\n", true, 0},
		{"module m\ngo 1.25.0\nrequire (\n\tgolang.org/x/sys v0.40.0\n\texample.com/a v1.0.0\n)\n", true, 1},
		{"module m\ngo 1.25.0\nrequire (\n\texample.com/a v1.0.0\n)\n", false, 0},
		{"module m\ngo 1.25\n", true, 1},
		{"module m\ngo 1.26.0\ntoolchain go1.26.1\n", false, 2},
		{"module m\n", false, 1},
		{"module m\ngo 1.25.0\nreplace example.com/a => ../a\n", true, 1},
		{"module m\ngo 1.25.0\nreplace (\n\texample.com/a => ../a\n)\n", false, 0},
		{"module m\ngo 1.25.0\ntool example.com/a/cmd/a\n", true, 1},
	} {
		if got := modFaults("go.mod", c.text, c.library); len(got) != c.faults {
			t.Errorf("%q: faults %q, want %d", c.text, got, c.faults)
		}
	}
}
