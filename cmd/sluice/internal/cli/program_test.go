package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/sluice-go/sluice/internal/loopback"
)

// asProgram makes this test binary behave as the program.
const asProgram = "SLUICE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	demoHost = loopback.Host()
	app := App{Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(app.Main(os.Args[1:]))
}

// A program is a call of this binary as the program.
type program struct {
	*exec.Cmd
	dir    string // where it runs
	temp   string // its temporary directory
	stdout bytes.Buffer
	stderr bytes.Buffer
}

func newProgram(t *testing.T, args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{Cmd: exec.CommandContext(t.Context(), self, args...), dir: t.TempDir(), temp: t.TempDir()}
	p.Dir = p.dir
	p.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+p.temp, "TMP="+p.temp, "TEMP="+p.temp)
	p.Cmd.Stdout, p.Cmd.Stderr = &p.stdout, &p.stderr
	return p
}

// code is the exit code that the end of a call came with.
func code(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err == nil {
		return 0
	}
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return exit.ExitCode()
}

// run calls the program to its end.
func run(t *testing.T, args ...string) (p *program, exit int) {
	t.Helper()
	p = newProgram(t, args...)
	exit = code(t, p.Run())
	p.clean(t)
	return p, exit
}

// clean checks that nothing is left in the temporary directory.
func (p *program) clean(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(p.temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%v left %s behind", p.Args[1:], e.Name())
	}
}
