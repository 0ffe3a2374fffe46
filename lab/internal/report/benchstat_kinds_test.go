package report

import (
	"regexp"
	"strings"
	"testing"
)

// The lines of the format: of a benchmark with its figures, of the
// configuration, and comments.
var (
	figuresLine = regexp.MustCompile(`^Benchmark[A-Z]\S*-\d+\t[1-9]\d*(\t-?[0-9.]+ \S+)+$`)
	settingLine = regexp.MustCompile(`^[a-z]\S*: \S.*$`)
)

func TestBenchmarkTextOfEveryKind(t *testing.T) {
	var b strings.Builder
	if err := WriteBenchstat(&b, everything(t)); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case figuresLine.MatchString(line):
			lines++
		case settingLine.MatchString(line), strings.HasPrefix(line, "# "):
		default:
			t.Errorf("%q is of no kind", line)
		}
	}
	for _, want := range []string{
		"\nresult: load-2.json\n", "pkg: sluice/load\n", "cpu: Test CPU @ 3 GHz\n",
		"BenchmarkLoad/protocol=frame/size=128..128/conns=64/depth=4/rate=20000-2\t", " req/s\t", " p99.9-ns", " target-cpu-ns/op\n",
		"# load: INVALID: 12 % of the sends were late",
		"BenchmarkFraming/good/variant=next-2\t241000\t",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	// A line for each window: two loads of 30 s.
	if n := strings.Count(b.String(), "\nBenchmarkLoad/"); n != 2*30 {
		t.Errorf("%d lines of loads among %d", n, lines)
	}
	if err := WriteBenchstat(&failing{left: 100}, everything(t)); err == nil {
		t.Error("a full disk was not noticed")
	}
}
