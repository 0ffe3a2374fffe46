package command

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The test's own binary is the command when the environment says so.
const asCommand = "SLUICEVET_AS_COMMAND"

// Flags for the go command, beneath the test.
const forbidTools = "SLUICEVET_GOFLAGS"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		Main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const ring = `package ring

type Ring struct{ buf []byte }

func (r *Ring) Peek() []byte { return r.buf }
func (r *Ring) Advance()     { r.buf = r.buf[1:] }
`

const user = `package main

import (
	"bufio"
	"fmt"

	"example.com/m/ring"
)

func line(br *bufio.Reader) (byte, error) {
	p, err := br.ReadSlice(10)
	if err != nil {
		return 0, err
	}
	br.ReadByte()
	return p[0], nil // line 16
}

func excused(br *bufio.Reader) byte {
	p, _ := br.ReadSlice(10)
	br.ReadByte()
	return p[0] //sluicevet:ignore the reader is over a file that is mapped
}

func notExcused(br *bufio.Reader) byte {
	p, _ := br.ReadSlice(10)
	br.ReadByte()
	return p[0] //sluicevet:ignore
}

func main() {
	var r ring.Ring
	p := r.Peek()
	r.Advance()
	fmt.Println(p[0]) // line 35
}
`

const tested = `package main

import (
	"bufio"
	"testing"
)

func TestLine(t *testing.T) {
	var br bufio.Reader
	p, _ := br.ReadSlice(10)
	br.ReadByte()
	t.Log(p[0]) // line 12
}
`

// module writes a module that has one fault of bufio, one of a ring of its own,
// and one in a test.
func module(t *testing.T) (dir, models string) {
	t.Helper()
	dir = t.TempDir()
	models = filepath.Join(dir, "own.models")
	write(t, dir, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25.0\n", "ring/ring.go": ring, "main.go": user, "main_test.go": tested,
		"own.models":      "package example.com/m/ring\nRing.Peek  result 0 borrowed from recv\nRing.Advance  recv ends\n",
		"mistyped.models": "package example.com/m/rign\nRing.Peek  result 0 borrowed from recv\nRing.Advance  recv ends\n",
		"bad.models":      "package example.com/m/ring\n\nRing.Peek  lends\n",
		"missing.models":  "package example.com/m/ring\nRing.Peak  recv ends\nRing.Advance  arg 0 ends\ntype Rung owned\nadvance  nothing\n",
	})
	return dir, models
}

// write writes files into dir.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a command in dir and returns its output and status.
func run(t *testing.T, dir, name string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asCommand+"=1", "GOWORK=off", "GOFLAGS="+os.Getenv(forbidTools))
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func TestCommand(t *testing.T) {
	dir, models := module(t)
	for _, c := range []struct {
		args   []string
		status int
		has    []string
		lacks  []string
	}{
		{[]string{"./..."}, 1, []string{"main.go:16:", "main.go:28:"}, []string{"main.go:22:", "main.go:35:", "main_test.go"}},
		{[]string{"-models", models, "./..."}, 1, []string{"main.go:16:", "main.go:35:", "Ring.Peek (line 33)", "Ring.Advance (line 34)"}, []string{"is not imported"}},
		{[]string{"-tests", "-stats", "."}, 1, []string{"main.go:16:", "main_test.go:12:", " lines, ", "3 reports"}, nil},
		{[]string{"./ring"}, 0, nil, []string{"ring.go"}},
		{[]string{"-models", filepath.Join(dir, "bad.models"), "."}, 2, []string{"bad.models:3: Ring.Peek"}, nil},
		{[]string{"-models", filepath.Join(dir, "missing.models"), "./..."}, 2, []string{"missing.models:2: example.com/m/ring has no Ring.Peak", ":3: Ring.Advance has no arg 0", ":4: example.com/m/ring has no Rung", ":5: example.com/m/ring has no advance"}, nil},
		{[]string{"-models", filepath.Join(dir, "mistyped.models"), "./..."}, 1, []string{"mistyped.models:2: package example.com/m/rign is not imported by what is checked", "main.go:16:"}, nil},
		{[]string{"-models", "missing", "."}, 2, []string{"missing"}, nil},
		{[]string{"./none/..."}, 2, []string{"none"}, nil},
		{[]string{"-nosuchflag"}, 2, []string{"nosuchflag"}, nil},
	} {
		out, status := run(t, dir, self(t), c.args...)
		check(t, c.args, out, c.has, c.lacks)
		if status != c.status {
			t.Errorf("%q: status %d, want %d\n%s", c.args, status, c.status, out)
		}
	}
}

func TestUnderGoVet(t *testing.T) {
	dir, models := module(t)
	for _, c := range []struct {
		args  []string
		has   []string
		lacks []string
	}{
		{[]string{"./..."}, []string{"main.go:16:"}, []string{"main.go:22:", "main.go:35:", "main_test.go"}},
		{[]string{"-models=" + models, "./..."}, []string{"main.go:16:", "main.go:35:"}, nil},
		{[]string{"-models=" + filepath.Join(dir, "missing.models"), "./..."}, []string{"missing.models:2: example.com/m/ring has no Ring.Peak", ":5: example.com/m/ring has no advance"}, nil},
	} {
		out, status := run(t, dir, "go", append([]string{"vet", "-vettool=" + self(t)}, c.args...)...)
		check(t, c.args, out, c.has, c.lacks)
		if status == 0 {
			t.Errorf("%q: status 0\n%s", c.args, out)
		}
	}
}

// TestModuleWithoutADot: a path whose first element has no dot may be one of the
// user's own packages, whose functions are understood as others are.
func TestModuleWithoutADot(t *testing.T) {
	dir := t.TempDir()
	models := filepath.Join(dir, "own.models")
	write(t, dir, map[string]string{
		"go.mod": "module plain\n\ngo 1.25.0\n", "ring/ring.go": ring,
		"own.models":       "package plain/ring\nRing.Peek  result 0 borrowed from recv\nRing.Advance  recv ends\n",
		"helper/helper.go": "package helper\n\nimport \"plain/ring\"\n\nfunc Head(r *ring.Ring) []byte { return r.Peek()[:1] }\n",
		"main.go": "package main\n\nimport (\n\t\"plain/helper\"\n\t\"plain/ring\"\n)\n\n" +
			"func main() {\n\tvar r ring.Ring\n\tp := helper.Head(&r)\n\tr.Advance()\n\tprintln(p[0])\n}\n",
	})
	out, status := run(t, dir, self(t), "-models", models, ".")
	check(t, []string{"."}, out, []string{"main.go:12:", "helper.Head (line 10)"}, nil)
	if status != 1 {
		t.Errorf("status %d, want 1", status)
	}
	args := []string{"vet", "-vettool=" + self(t), "-models=" + models, "."}
	out, _ = run(t, dir, "go", args...)
	check(t, args, out, []string{"main.go:12:", "helper.Head (line 10)"}, nil)
}

// TestStandardLibraryHasNoFacts: under go vet its packages are not even read when
// only their facts are asked for; the table has what matters of them.
func TestStandardLibraryHasNoFacts(t *testing.T) {
	for _, c := range []struct {
		unit   string
		status int
	}{
		{`"ImportPath": "net/textproto"`, 0},
		{`"ImportPath": "plain/ring", "ModulePath": "plain"`, 1},
		{`"ImportPath": "plain/ring", "Module": {"Path": "plain"}`, 1},
		{`"ImportPath": "example.com/ring"`, 1},
	} {
		dir := t.TempDir()
		facts := filepath.Join(dir, "facts")
		quoted, _ := json.Marshal(facts)
		write(t, dir, map[string]string{"unit.cfg": `{` + c.unit + `, "VetxOnly": true, "GoFiles": ["missing.go"], "VetxOutput": ` + string(quoted) + `}`})
		out, status := run(t, dir, self(t), filepath.Join(dir, "unit.cfg"))
		if status != c.status {
			t.Errorf("%s: status %d, want %d\n%s", c.unit, status, c.status, out)
		}
		if text, err := os.ReadFile(facts); c.status == 0 && (err != nil || len(text) > 0) {
			t.Errorf("%s: facts %q, %v", c.unit, text, err)
		}
	}
}

// TestNothingIsCompiled: a user without a build cache does not wait for the compiler.
func TestNothingIsCompiled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir, _ := module(t)
	// The go command asks tools for their versions in any case.
	only := filepath.Join(dir, "only-versions")
	if err := os.WriteFile(only, []byte("#!/bin/sh\ncase \"$*\" in *-V=full*) exec \"$@\" ;; esac\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", t.TempDir())
	t.Setenv(forbidTools, "-toolexec="+only)
	out, status := run(t, dir, self(t), ".")
	check(t, []string{"."}, out, []string{"main.go:16:", "main.go:28:"}, nil)
	if status != 1 {
		t.Errorf("status %d, want 1\n%s", status, out)
	}
	if out, status := run(t, dir, "go", "build", "."); status == 0 {
		t.Errorf("the compiler was not forbidden: %s", out)
	}
}

// TestCgo: files that use C are looked at as cgo has made them.
func TestCgo(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25.0\n",
		"c.go": "package m\n\n// static int two(void) { return 2; }\nimport \"C\"\n\nimport \"bufio\"\n\n" +
			"func twice(r *bufio.Reader) int {\n\tp, _ := r.Peek(int(C.two()))\n\tr.ReadByte()\n\treturn int(p[0]) + int(C.two())\n}\n",
	})
	t.Setenv("CGO_ENABLED", "1")
	out, status := run(t, dir, self(t), ".")
	check(t, []string{"."}, out, []string{"c.go:11:", "used after Reader.ReadByte"}, nil)
	if status != 1 {
		t.Errorf("status %d, want 1\n%s", status, out)
	}
}

func check(t *testing.T, args []string, out string, has, lacks []string) {
	t.Helper()
	for _, s := range has {
		if !strings.Contains(out, s) {
			t.Errorf("%q: no %q in\n%s", args, s, out)
		}
	}
	for _, s := range lacks {
		if strings.Contains(out, s) {
			t.Errorf("%q: %q in\n%s", args, s, out)
		}
	}
}

func TestHelpIsNoError(t *testing.T) {
	if err := standalone([]string{"-h"}, io.Discard); err != nil {
		t.Error(err)
	}
}
