package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// benchPackage stands in the pkg line of the benchmark text.
const benchPackage = "github.com/sluice-go/sluice/lab/internal/scenarios"

// firstUnits is the order in which go test prints the common ones.
var firstUnits = []string{lab.NsPerOp, "MB/s", lab.BytesPerOp, lab.AllocsPerOp}

// WriteBenchstat writes a line for each round and variant in the format that
// go test -bench prints, with the operations of the round as N:
//
//	BenchmarkFraming/good/variant=next-2  241000  64.1 ns/op  9984 MB/s  0 B/op  0 allocs/op  63.9 cpu-ns/op  0 gc-runs
//
// The last part of a name is "variant=", which benchstat can put side by side:
// benchstat -col /variant results.txt. Note that it compares medians over all rounds, not
// ratios within rounds, so that a machine that drifts blurs its verdicts.
func (f *File) WriteBenchstat(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "goos: %s\ngoarch: %s\npkg: %s\n", part(f.Machine.OS), part(f.Machine.Arch), benchPackage)
	if f.Machine.CPU != "" {
		fmt.Fprintf(b, "cpu: %s\n", oneLine(f.Machine.CPU))
	}
	fmt.Fprintf(b, "seed: %d\nmode: %s\n", f.Seed, part(f.Mode))
	for i := range f.Scenarios {
		o := &f.Scenarios[i]
		if !o.Measured() {
			// A configuration line would be taken for the following benchmarks'.
			fmt.Fprintf(b, "# %s: %s: %s\n", oneLine(o.Name), o.State, oneLine(o.Reason))
			continue
		}
		for round := range o.Rounds {
			for _, v := range o.Variants {
				if round >= len(v.Turns) {
					continue
				}
				fmt.Fprintf(b, "Benchmark%s/variant=%s-%d\t%d", part(capital(o.Name)), part(v.Name), f.Machine.GOMAXPROCS, o.Ops)
				figures := v.Turns[round].Figures
				for _, unit := range unitOrder(figures) {
					fmt.Fprintf(b, "\t%s %s", plain(figures[unit]), part(unit))
				}
				b.WriteByte('\n')
			}
		}
	}
	return b.Flush()
}

func unitOrder(figures map[string]float64) []string {
	var first, rest []string
	for _, unit := range firstUnits {
		if _, ok := figures[unit]; ok {
			first = append(first, unit)
		}
	}
	for unit := range figures {
		if !slices.Contains(firstUnits, unit) {
			rest = append(rest, unit)
		}
	}
	slices.Sort(rest)
	return append(first, rest...)
}

// plain writes six significant digits without an exponent, as go test does.
func plain(value float64) string {
	short, err := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 6, 64), 64)
	if err != nil {
		short = value
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// capital makes the name one of a benchmark function, which starts with an
// upper-case letter.
func capital(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}
