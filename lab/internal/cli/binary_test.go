package cli

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The program as people build it, with its real scenarios.
func TestTheRealProgram(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command")
	}
	binary := filepath.Join(t.TempDir(), "lab")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if out, err := exec.CommandContext(t.Context(), goTool, "build", "-ldflags=-w", "-o", binary, "github.com/sluice-go/sluice/lab").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range []struct {
		line string
		want int
		says string
	}{
		{"--version", 0, "lab "},
		{"bench --list", 0, "framing/good "},
		{"bench --list tcp", 0, "tcp/"},
		{"bench --list echo", 0, "echo/1000x128B "},
		{"bench --list nosuch", ExitUsage, "nosuch"},
		{"nosuch", ExitUsage, "nosuch"},
		{"child nosuch", ExitUsage, "nosuch"},
	} {
		out, err := exec.CommandContext(t.Context(), binary, strings.Fields(c.line)...).CombinedOutput()
		if exit := code(t, err); exit != c.want || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: exit code %d, %s", c.line, exit, out)
		}
		if c.want == ExitUsage && strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: not one line: %s", c.line, out)
		}
	}
}
