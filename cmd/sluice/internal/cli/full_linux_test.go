package cli

import (
	"os"
	"strings"
	"testing"
)

// What is printed for people is asked for too: a pipe or a file that does not take it is a
// failure, whichever command prints.
func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, line := range []string{"", "--help", "help", "help serve", "serve --help", "flv", "--version", "version", "completion bash", "config show", "doctor"} {
		p := newProgram(t, strings.Fields(line)...)
		p.Cmd.Stdout = full
		exit, stderr := code(t, p.Run()), p.stderr.String()
		if exit != ExitFailure || !strings.Contains(stderr, "no space left") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit code %d, and %q", line, exit, stderr)
		}
	}
}
