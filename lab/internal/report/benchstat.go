package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/document"
)

// WriteBenchstat writes a line for each value of a sample in the format that go
// test -bench prints, those of one round, window or run in one line:
//
//	BenchmarkFraming/good/variant=next-2  241000  64.1 ns/op  9984 MB/s  0 B/op  0 allocs/op  63.9 cpu-ns/op  0 gc-runs
//
// The last part of a name is "variant=", which benchstat can put side by side:
// benchstat -col /variant results.txt. Before each of several results stands a
// configuration line "result: NAME", for benchstat -col result. What is invalid
// has a comment instead of figures.
func WriteBenchstat(w io.Writer, results []*Result) error {
	b := bufio.NewWriter(w)
	for _, r := range results {
		if len(results) > 1 {
			fmt.Fprintf(b, "result: %s\n", part(r.Name))
		}
		m := r.Origin().Machine
		fmt.Fprintf(b, "goos: %s\ngoarch: %s\npkg: sluice/%s\n", part(m.OS), part(m.Arch), part(r.Kind))
		if m.CPU != "" {
			fmt.Fprintf(b, "cpu: %s\n", document.OneLine(m.CPU))
		}
		if r.Bench != nil {
			fmt.Fprintf(b, "seed: %d\nmode: %s\n", r.Bench.Seed, part(r.Bench.Mode))
		}
		for _, g := range r.Groups() {
			if g.Fault != "" {
				// A configuration line would be taken for the following benchmarks'.
				fmt.Fprintf(b, "# %s: %s\n", document.OneLine(g.Item), document.OneLine(g.Fault))
			}
			if g.Bench != "" {
				g.write(b, max(1, m.GOMAXPROCS))
			}
		}
	}
	return b.Flush()
}

func (g *Group) write(b *bufio.Writer, procs int) {
	for i := 0; ; i++ {
		var line strings.Builder
		for _, s := range g.Samples {
			if i < len(s.Values) && s.Unit != ratioUnit {
				fmt.Fprintf(&line, "\t%s %s", plain(s.Values[i]), part(s.Unit))
			}
		}
		if line.Len() == 0 {
			return
		}
		fmt.Fprintf(b, "Benchmark%s-%d\t%d%s\n", strings.ReplaceAll(g.Bench, " ", "-"), procs, g.N, line.String())
	}
}
