package cli

import (
	"strings"
	"testing"
)

func TestWrongCommandLinesCostOneLineAndExitCode2(t *testing.T) {
	for _, c := range []struct {
		line string
		says string
	}{
		{"frobnicate", "frobnicate"},
		{"--frobnicate", "frobnicate"},
		{"bench --frobnicate", "frobnicate"},
		{"bench nosuch", "nosuch"},
		{"bench fast nosuch", "nosuch"},
		{"bench [", "bad pattern"},
		{"bench --list nosuch", "nosuch"},
		{"bench --quick --full", "--quick and --full"},
		{"bench --check", "--full"},
		{"bench --quick --check", "--full"},
		{"bench --full --check --rounds 3", "15 rounds"},
		{"bench --rounds 0", "--rounds 0"},
		{"bench --rounds -1", "--rounds -1"},
		{"bench --rounds 1001", "--rounds 1001"},
		{"bench --rounds many", "many"},
		{"bench --rounds", "rounds"},
		{"bench --time 1ms", "--time 1ms"},
		{"bench --time -5s", "--time -5s"},
		{"bench --time 5", "5"},
		{"bench --seed -1", "-1"},
		{"bench --json - --benchstat -", "standard output"},
		{"bench --html -", "--html"},
		{"bench --json no/such/directory/x.json", "no/such/directory"},
		{"bench --html no/such/directory/x.html", "no/such/directory"},
		{"bench --cpuprofile no/such/directory/x", "no/such/directory"},
		{"bench --cpuprofile -", "--cpuprofile"},
		{"bench --json a --benchstat ./a", "same file"},
		{"echo", "address"},
		{"echo 127.0.0.1:0 127.0.0.1:1", "address"},
		{"echo localhost", "localhost"},
		{"echo unix:", "path"},
		{"echo --engine gaio 127.0.0.1:0", "gaio"},
		{"echo --engine std --buffer 0 127.0.0.1:0", "buffer"},
		{"echo --buffer -1 127.0.0.1:0", "-1"},
		{"echo --buffer 1000000000 127.0.0.1:0", "1000000000"},
		{"echo --listeners 0 127.0.0.1:0", "0 listeners"},
		{"echo --stats 1us 127.0.0.1:0", "--stats"},
		{"echo --stats -1s 127.0.0.1:0", "--stats"},
		{"echo --json no/such/directory/x.json 127.0.0.1:0", "no/such/directory"},
		{"version 2", "2"},
		{"version --long", "long"},
		{"help nosuch", "nosuch"},
		{"help bench fast", "bench fast"},
		{"completion bash", "completion"},
		{"child", "which"},
		{"child nosuch", "nosuch"},
	} {
		p, exit := run(t, strings.Fields(c.line)...)
		stderr := p.stderr.String()
		if exit != ExitUsage {
			t.Errorf("%s: exit code %d", c.line, exit)
		}
		if strings.Count(stderr, "\n") != 1 || !strings.HasSuffix(stderr, "\n") {
			t.Errorf("%s: not one line:\n%s", c.line, stderr)
		}
		if !strings.HasPrefix(stderr, "sluice: ") || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: %q does not say %q", c.line, stderr, c.says)
		}
		if p.stdout.Len() > 0 {
			t.Errorf("%s: printed %q", c.line, p.stdout.String())
		}
		if left := files(t, p.dir); len(left) > 0 {
			t.Errorf("%s: left %v", c.line, left)
		}
	}
}

func TestHelpHasOneExampleEach(t *testing.T) {
	for _, line := range []string{"--help", "bench --help", "echo --help", "version --help", "help bench", ""} {
		p, exit := run(t, strings.Fields(line)...)
		text := p.stdout.String()
		if exit != 0 || p.stderr.Len() > 0 {
			t.Errorf("%q: exit code %d, %s", line, exit, p.stderr.String())
		}
		_, examples, ok := strings.Cut(text, "Examples:\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		if lines := strings.Split(strings.TrimSpace(examples), "\n"); !ok || len(lines) != 1 || !strings.HasPrefix(lines[0], "sluice") {
			t.Errorf("%q: examples %q", line, examples)
		}
		if strings.Contains(text, "child") {
			t.Errorf("%q: shows what is hidden", line)
		}
	}
	p, _ := run(t, "bench", "--help")
	for _, want := range []string{"Exit codes: 0", "--quick", "--full", "--check", "--json", "--benchstat", "--html", "--seed", "--cpuprofile", "--memprofile"} {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("the help of bench does not mention %s", want)
		}
	}
	p, _ = run(t, "echo", "--help")
	for _, want := range []string{"Exit codes: 0", "--engine", "--buffer", "--listeners", "--stats", "--json", "unix:"} {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("the help of echo does not mention %s", want)
		}
	}
}

func TestVersionIsOneLine(t *testing.T) {
	p, exit := run(t, "version")
	if text := p.stdout.String(); exit != 0 || !strings.HasPrefix(text, "sluice ") || strings.Count(text, "\n") != 1 || !strings.Contains(text, " go1.") {
		t.Errorf("exit code %d, %q", exit, text)
	}
}

func TestChildrenAreCalledWithTheirArguments(t *testing.T) {
	p, exit := run(t, "child", "echo", "--size", "128", "-x")
	if exit != 0 || p.stdout.String() != "--size 128 -x\n" {
		t.Errorf("exit code %d, %q, %q", exit, p.stdout.String(), p.stderr.String())
	}
	p, exit = run(t, "child", "fail")
	if exit != ExitFailure || p.stderr.String() != "sluice: child fail: two lines\n" {
		t.Errorf("exit code %d, %q", exit, p.stderr.String())
	}
}
