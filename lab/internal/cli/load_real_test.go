package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// shortly makes a run short. The machine may be busy with other tests: how late
// something is is no matter here.
var shortly = []string{"--no-calibration", "--duration", "250ms", "--warmup", "30ms"}

func readResult(t *testing.T, p *program, name string, to any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatal(err)
	}
}

// loadUntilAnswered runs a short load, and a longer one while nothing is answered: the machine
// may have stood still.
func loadUntilAnswered(t *testing.T, args ...string) (p *program, exit int, r load.Result) {
	t.Helper()
	for d := 250 * time.Millisecond; ; d *= 4 {
		p, exit = run(t, append(append([]string{"load", "--json", "r.json"}, shortly...), append([]string{"--duration", d.String()}, args...)...)...)
		if exit != ExitOK && exit != ExitUnusable {
			return p, exit, r
		}
		r = load.Result{}
		if readResult(t, p, "r.json", &r); r.Requests > 0 || r.Errors > 0 || d > 10*time.Second {
			return p, exit, r
		}
	}
}

func TestLoadOnEcho(t *testing.T) {
	s := startEcho(t, "127.0.0.1:0")
	addr := strings.TrimPrefix(s.lines.Text(), "listening on ")
	for _, flags := range []string{
		"--conns 4 --size 1..2000 --iodepth 3 --verify", "--protocol echo --engine portable --verify", "--rate 2000 --conns 2 --size 1KiB",
		fmt.Sprintf("--pid %d", s.Process.Pid),
	} {
		p, exit, r := loadUntilAnswered(t, append(strings.Fields(flags), addr)...)
		if exit != ExitOK && exit != ExitUnusable {
			t.Errorf("%s: exit code %d, %s%s", flags, exit, p.stdout.String(), p.stderr.String())
			continue
		}
		if r.Kind != load.Kind || r.Requests == 0 || r.IOPS <= 0 || r.Errors > 0 || r.Valid != (exit == ExitOK) {
			t.Errorf("%s: exit code %d, %+v", flags, exit, r)
		}
		if hasLatency := strings.Contains(p.stdout.String(), "P99.9"); hasLatency != r.Valid {
			t.Errorf("%s: valid is %v: %s", flags, r.Valid, p.stdout.String())
		}
		if strings.HasPrefix(flags, "--pid") && runtime.GOOS == "linux" && (r.Target == nil || r.Target.CPU <= 0) {
			t.Errorf("%s: the target used %+v", flags, r.Target)
		}
	}
	s.end(t, syscall.SIGTERM)
}

// running starts the program and waits for a line of progress that matches says.
func running(t *testing.T, says string, args ...string) (p *program, rest *bufio.Scanner) {
	t.Helper()
	line := regexp.MustCompile(says)
	p = newProgram(t, args...)
	p.Cmd.Stderr = nil
	pipe, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(echoWait, func() { p.Process.Kill() })
	t.Cleanup(func() { late.Stop() })
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		p.stderr.WriteString(lines.Text() + "\n")
		if line.MatchString(lines.Text()) {
			return p, lines
		}
	}
	t.Fatalf("%q ends without a line that says %q: %s", args, says, p.stderr.String())
	return nil, nil
}

// ended waits for the end of the program.
func (p *program) ended(t *testing.T, rest *bufio.Scanner) int {
	t.Helper()
	for rest.Scan() {
		p.stderr.WriteString(rest.Text() + "\n")
	}
	exit := code(t, p.Wait())
	p.clean(t)
	return exit
}

func TestLoadThatIsInterrupted(t *testing.T) {
	s := startEcho(t, "127.0.0.1:0")
	addr := strings.TrimPrefix(s.lines.Text(), "listening on ")
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		p, rest := running(t, `^ *\d.*requests [1-9]`, append(append([]string{"load", "--json", "r.json"}, shortly...), "--duration", "10m", addr)...)
		if err := p.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if exit := p.ended(t, rest); exit != ExitUnusable || !strings.Contains(p.stdout.String(), "INTERRUPTED") {
			t.Errorf("exit code %d, %s%s", exit, p.stdout.String(), p.stderr.String())
		}
		var r load.Result
		readResult(t, p, "r.json", &r)
		if !r.Interrupted || r.Requests == 0 || r.Measured <= 0 || r.Measured > echoWait {
			t.Errorf("%+v", r)
		}
	}
	s.end(t, syscall.SIGTERM)
}

func TestLoadOnATargetThatDies(t *testing.T) {
	s := startEcho(t, "127.0.0.1:0")
	addr := strings.TrimPrefix(s.lines.Text(), "listening on ")
	p, rest := running(t, "requests", append(append([]string{"load"}, shortly...), "--duration", "10m", "--conns", "3", addr)...)
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if exit := p.ended(t, rest); exit != ExitFailure || !strings.Contains(p.stderr.String(), "lab: load: the target failed: ") {
		t.Errorf("exit code %d, %s%s", exit, p.stdout.String(), p.stderr.String())
	}
	if out := p.stdout.String(); !strings.Contains(out, "INVALID") || strings.Contains(out, "p99") {
		t.Error(out)
	}
	for s.lines.Scan() {
	}
	s.Wait() // it was killed
}

func TestLoadCalibratesFirst(t *testing.T) {
	s := startEcho(t, "127.0.0.1:0")
	addr := strings.TrimPrefix(s.lines.Text(), "listening on ")
	p, exit := run(t, append(append([]string{"load", "--json", "r.json"}, shortly[1:]...), addr)...)
	if exit != ExitOK && exit != ExitUnusable {
		t.Fatalf("exit code %d, %s%s", exit, p.stdout.String(), p.stderr.String())
	}
	var r load.Result
	readResult(t, p, "r.json", &r)
	if c := r.Calibration; c == nil || c.Timer.Count == 0 || c.LateAfter != r.Plan.LateAfter {
		t.Errorf("%+v, %+v", r.Calibration, r.Plan)
	}
	s.end(t, syscall.SIGTERM)
}

func TestTheHelpOfLoad(t *testing.T) {
	for line, words := range map[string][]string{
		"load --help": {"Exit codes: 0", "--protocol", "--conns", "--size", "--rate", "--iodepth", "--duration", "--warmup", "--pid", "--acks",
			"--redial", "--verify", "--no-calibration", "--json", "unix:PATH", "hides stalls", "INVALID"},
	} {
		p, exit := run(t, strings.Fields(line)...)
		text := p.stdout.String()
		if exit != ExitOK || p.stderr.Len() > 0 || strings.Count(text, "\n  lab "+strings.TrimSuffix(line, " --help")+" --") != 1 {
			t.Errorf("%s: exit code %d, %s%s", line, exit, text, p.stderr.String())
		}
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("%s does not mention %s", line, word)
			}
		}
	}
}
