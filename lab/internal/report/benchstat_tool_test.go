package report

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// benchstat runs the real tool, as go.mod has it, on files and without any flag.
func benchstat(t *testing.T, texts ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	tool, err := exec.CommandContext(ctx, "go", "tool", "-n", "benchstat").Output() // fetched and built, if it has to be
	if err != nil {
		t.Fatalf("go tool -n benchstat: %v", err)
	}
	var args []string
	for i, text := range texts {
		path := filepath.Join(t.TempDir(), []string{"old.txt", "new.txt"}[i])
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	cmd := exec.CommandContext(ctx, strings.TrimSpace(string(tool)), args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("benchstat: %v\n%s", err, errs.String())
	}
	return string(out)
}

func benchText(t *testing.T, f *File) string {
	t.Helper()
	var b strings.Builder
	if err := writeBench(f, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// benchstat counts a sample for each round, and compares two runs, without flags.
func TestBenchstatSeesEachRoundAsASample(t *testing.T) {
	old, changed := fixture(), benchWith(1.4, "next")
	out := benchstat(t, benchText(t, old), benchText(t, changed))
	row := func(line string) string {
		for l := range strings.Lines(out) {
			if strings.HasPrefix(l, line) {
				return l
			}
		}
		t.Fatalf("no %s in\n%s", line, out)
		return ""
	}
	if next := row("Framing/good/variant=next-2"); !regexp.MustCompile(`\+(39|40|41)\.\d\d% \(p=0\.000 n=15\)`).MatchString(next) {
		t.Errorf("not 40 %% more in 15 samples: %s", next)
	}
	if peek := row("Framing/good/variant=peek-2"); !strings.Contains(peek, "~ (p=1.000 n=15)") {
		t.Errorf("the same is not the same: %s", peek)
	}
	if worst := row("Framing/worst/variant=next-2"); !strings.Contains(worst, "n=3") {
		t.Errorf("three rounds are not three samples: %s", worst)
	}
	for _, unit := range []string{"sec/op", "allocs/op", "B/op"} {
		if !strings.Contains(out, unit) {
			t.Errorf("no table of %s in\n%s", unit, out)
		}
	}
}

// Every kind of result is text that benchstat takes.
func TestBenchstatTakesEveryKind(t *testing.T) {
	var b strings.Builder
	if err := WriteBenchstat(&b, everything(t)); err != nil {
		t.Fatal(err)
	}
	out := benchstat(t, b.String())
	for _, want := range []string{"Load/protocol=frame", "Framing/good/variant=next-2"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%.3000s", want, out)
		}
	}
}
