package report

import (
	"bytes"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A benchLine is what the benchmark format says: a name that begins with
// Benchmark and an upper-case letter, iterations, then pairs of value and unit.
type benchLine struct {
	name  string
	n     int
	units map[string]float64
}

var (
	configLine = regexp.MustCompile(`^([a-z][^\s:A-Z]*):(?:\s+(.*))?$`)
	benchName  = regexp.MustCompile(`^Benchmark[A-Z0-9_]\S*-\d+$`)
)

// parseBench reads the format strictly: every line must be one that tools
// understand or, with a #, ignore.
func parseBench(t *testing.T, text string) (config map[string]string, lines []benchLine) {
	t.Helper()
	config = map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if m := configLine.FindStringSubmatch(line); m != nil {
			config[m[1]] = m[2]
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || len(fields)%2 != 0 || !benchName.MatchString(fields[0]) {
			t.Fatalf("not a benchmark line: %q", line)
		}
		n, err := strconv.Atoi(fields[1])
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		b := benchLine{fields[0], n, map[string]float64{}}
		for i := 2; i < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			b.units[fields[i+1]] = value
		}
		lines = append(lines, b)
	}
	return config, lines
}

func writeBench(f *File, w io.Writer) error {
	return WriteBenchstat(w, []*Result{{Name: "bench", Kind: KindBench, Bench: f}})
}

func TestBenchstatTextReadsBack(t *testing.T) {
	f := fixture()
	var b bytes.Buffer
	if err := writeBench(f, &b); err != nil {
		t.Fatal(err)
	}
	config, lines := parseBench(t, b.String())
	for key, want := range map[string]string{"goos": "linux", "goarch": "amd64", "pkg": "sluice/bench", "cpu": "Test CPU @ 3 GHz"} {
		if config[key] != want {
			t.Errorf("%s: %q, want %q", key, config[key], want)
		}
	}
	if want := 3*15 + 3*3; len(lines) != want {
		t.Fatalf("%d lines, want one for each round and variant: %d", len(lines), want)
	}
	first := lines[slices.IndexFunc(lines, func(l benchLine) bool { return strings.Contains(l.name, "variant=next-") })]
	if first.name != "BenchmarkFraming/good/variant=next-2" || first.n != 241000 {
		t.Errorf("%q, %d", first.name, first.n)
	}
	next, _ := f.Scenarios[0].Variant("next")
	for unit, want := range next.Calls[0].Figures {
		if got := first.units[unit]; math.Abs(got-want) > 1e-5*want {
			t.Errorf("%s: %v, want %v", unit, got, want)
		}
	}
	if len(first.units) != len(next.Calls[0].Figures) {
		t.Errorf("units %v", first.units)
	}
	if !strings.Contains(b.String(), "\t241000\t6") || !strings.Contains(b.String(), " ns/op\t") {
		t.Errorf("the first pair is not ns/op:\n%.400s", b.String())
	}
}
