package command

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The test's own binary is the command when the environment says so.
const asCommand = "SLUICEVET_AS_COMMAND"

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
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25.0\n", "ring/ring.go": ring, "main.go": user, "main_test.go": tested,
		"own.models": "package example.com/m/ring\nRing.Peek  result 0 borrowed from recv\nRing.Advance  recv ends\n",
		"bad.models": "package example.com/m/ring\n\nRing.Peek  lends\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, models
}

// run runs a command in dir and returns its output and status.
func run(t *testing.T, dir, name string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asCommand+"=1", "GOWORK=off", "GOFLAGS=")
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
		{[]string{"-models", models, "./..."}, 1, []string{"main.go:16:", "main.go:35:", "Ring.Peek (line 33)", "Ring.Advance (line 34)"}, nil},
		{[]string{"-tests", "-stats", "."}, 1, []string{"main.go:16:", "main_test.go:12:", " lines, ", "3 reports"}, nil},
		{[]string{"./ring"}, 0, nil, []string{"ring.go"}},
		{[]string{"-models", filepath.Join(dir, "bad.models"), "."}, 2, []string{"bad.models:3: Ring.Peek"}, nil},
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
	if testing.Short() {
		t.Skip("has go vet look at the standard library")
	}
	dir, models := module(t)
	for _, c := range []struct {
		args  []string
		has   []string
		lacks []string
	}{
		{[]string{"./..."}, []string{"main.go:16:"}, []string{"main.go:22:", "main.go:35:", "main_test.go"}},
		{[]string{"-models=" + models, "./..."}, []string{"main.go:16:", "main.go:35:"}, nil},
	} {
		out, status := run(t, dir, "go", append([]string{"vet", "-vettool=" + self(t)}, c.args...)...)
		check(t, c.args, out, c.has, c.lacks)
		if status == 0 {
			t.Errorf("%q: status 0\n%s", c.args, out)
		}
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
