package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
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
		{"config frobnicate", `unknown command "frobnicate"; see sluice config --help`},
		{"config check", "one file"},
		{"config show what", "what"},
		{"doctor who", "who"},
		{"abuse", "one address"},
		{"abuse ftp://127.0.0.1/live", "ftp"},
		{"abuse rtmp://192.0.2.1/live", "--i-own-this-server"},
		{"abuse --run ( rtmp://127.0.0.1/live", "--run"},
		{"abuse --parallel 99999999999999999999 rtmp://127.0.0.1/live", "within 1 to 1024"},
		{"abuse --growth x rtmp://127.0.0.1/live", "within 0 to 1048576"},
		{"abuse --pid -1 rtmp://127.0.0.1/live", "within 0 to"},
		{"abuse --within 5 rtmp://127.0.0.1/live", "such as 5s within 1ms to 1h0m0s"},
		{"abuse --idle 0s rtmp://127.0.0.1/live", "such as 5s within 1ms to 1h0m0s"},
		{"cluster demo --for -1s", "within 0s to"},
		{"doctor --json=x", "neither true nor false"},
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

// Help fits a window of 100 columns, of every command there is.
func TestHelpFitsAWindow(t *testing.T) {
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		for line := range strings.Lines(said(t, append(strings.Fields(cmd.CommandPath())[1:], "--help")...)) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > 100 || strings.TrimRight(line, " ") != line {
				t.Errorf("%s: a line of %d columns: %q", cmd.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(App{Stdout: io.Discard, Stderr: io.Discard}.root())
}

// said runs the program in this process, and returns what it prints.
func said(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	if exit := (App{Stdout: &stdout, Stderr: &stderr}).Main(args); exit != ExitOK {
		t.Errorf("%q: exit code %d, %s", args, exit, stderr.String())
	}
	return stdout.String()
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

// What a shell's script asks the program for is answered by what an argument or a flag
// takes. The number at the end is cobra's: 0 has the shell complete files, 16
// directories, 4 nothing else.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if script := said(t, "completion", shell); !strings.Contains(script, "__complete") {
			t.Errorf("%s: %s", shell, script)
		}
	}
	for line, want := range map[string]string{
		"con":                     "config :4",
		"config ":                 "check show :4",
		"config check ":           ":0",
		"config show --st":        "--stream :4",
		"config show --stream ":   ":4",
		"completion ":             "bash zsh fish powershell :4",
		"man ":                    ":16",
		"serve ":                  ":4",
		"serve --takeover ":       "refuse replace standby :4",
		"health --record-format ": "flv mp4 :4",
		"serve --config ":         ":0",
		"serve --record ":         ":16",
		"serve --http ":           ":4",
		"abuse --junit ":          ":0",
		"help flv ":               "probe :4",
		"help ":                   "abuse cluster completion config doctor flv health help man serve token version :4",
	} {
		text := said(t, append([]string{"__completeNoDesc"}, strings.Split(line, " ")...)...)
		if got := strings.Join(strings.Fields(text), " "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// Each command has a manual page under its own name, in which tables stay tables.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	said(t, "man", dir)
	for name, want := range map[string]string{
		"sluice.1": `"SLUICE" "1"`, "sluice-config-show.1": `"SLUICE-CONFIG-SHOW" "1"`, "sluice-abuse.1": `"SLUICE-ABUSE" "1"`,
		"sluice-serve.1": ".EX\nrtmp://HOST/APP/NAME              to publish and to play\nrtsp:",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if plain := strings.ReplaceAll(string(text), `\-`, "-"); err != nil || !strings.Contains(plain, ".TH") || !strings.Contains(plain, want) {
			t.Errorf("%s: %v, no %q in %.1500s", name, err, want, plain)
		}
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		pages, _ := filepath.Glob(filepath.Join(dir, "*.1"))
		if out, err := exec.CommandContext(t.Context(), groff, append([]string{"-man", "-ww", "-z", "-Tutf8"}, pages...)...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("groff: %v: %s", err, out)
		}
	}
	if p, exit := run(t, "man", filepath.Join(dir, "none")); exit != ExitFailure || p.stderr.Len() == 0 {
		t.Errorf("no directory: exit code %d", exit)
	}
}
