package cli

import (
	"os"
	"path/filepath"
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
		{"completion", "bash, zsh"},
		{"completion tcsh", "tcsh"},
		{"man", "directory"},
		{"config frobnicate", "frobnicate"},
		{"config check", "one file"},
		{"config show what", "what"},
		{"doctor who", "who"},
		{"abuse", "one address"},
		{"abuse ftp://127.0.0.1/live", "ftp"},
		{"abuse rtmp://192.0.2.1/live", "not a private address"},
		{"abuse --run ( rtmp://127.0.0.1/live", "--run"},
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
	for _, line := range []string{"--help", "serve --help", "token --help", "flv --help", "flv probe --help", "config --help", "config check --help", "config show --help", "doctor --help", "abuse --help", "completion --help", "man --help", "version --help", "help serve", ""} {
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

// Each shell's script names the commands; each command has a manual page.
func TestCompletionAndManualPages(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		p, exit := run(t, "completion", shell)
		if exit != ExitOK || !strings.Contains(p.stdout.String(), "sluice") || p.stderr.Len() > 0 {
			t.Errorf("%s: exit code %d, %s", shell, exit, p.stderr.String())
		}
	}
	dir := t.TempDir()
	if p, exit := run(t, "man", dir); exit != ExitOK {
		t.Fatalf("exit code %d, %s", exit, p.stderr.String())
	}
	for _, name := range []string{"sluice.1", "sluice-serve.1", "sluice-config-show.1", "sluice-abuse.1"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), ".TH") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p, exit := run(t, "man", filepath.Join(dir, "none")); exit != ExitFailure || p.stderr.Len() == 0 {
		t.Errorf("no directory: exit code %d", exit)
	}
}
