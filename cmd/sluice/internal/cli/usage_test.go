package cli

import (
	"os"
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
		{"bench", "bench"},
		{"version 2", "2"},
		{"version --long", "long"},
		{"help nosuch", "nosuch"},
		{"help serve fast", "serve fast"},
		{"completion bash", "completion"},
		{"serve nowhere", "nowhere"},
		{"token", "one stream"},
		{"flv probe", "one file"},
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
		if left, err := os.ReadDir(p.dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", c.line, left, err)
		}
	}
}

func TestHelpHasOneExampleEach(t *testing.T) {
	for _, line := range []string{"--help", "serve --help", "token --help", "flv --help", "flv probe --help", "version --help", "help serve", ""} {
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
	}
}

func TestVersionIsOneLine(t *testing.T) {
	flag, _ := run(t, "--version")
	p, exit := run(t, "version")
	if flag.stdout.String() != p.stdout.String() {
		t.Errorf("--version prints %q, version %q", flag.stdout.String(), p.stdout.String())
	}
	if text := p.stdout.String(); exit != 0 || !strings.HasPrefix(text, "sluice ") || strings.Count(text, "\n") != 1 || !strings.Contains(text, " go1.") {
		t.Errorf("exit code %d, %q", exit, text)
	}
}
