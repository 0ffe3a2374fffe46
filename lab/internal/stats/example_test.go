package stats_test

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/stats"
)

func Example() {
	// Nanoseconds per operation of two variants in seven rounds, on a machine
	// that became twice as slow on the way.
	mine := []float64{61, 63, 60, 118, 122, 125, 119}
	bufio := []float64{80, 79, 81, 152, 160, 158, 161}

	c := stats.Compare(stats.Ratios(mine, bufio))
	fmt.Printf("%.2f [%.2f %.2f] %v\n", c.Median, c.Lo, c.Hi, c.Verdict)
	// Output: 0.76 [0.74 0.80] less
}
