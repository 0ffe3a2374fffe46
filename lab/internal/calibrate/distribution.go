package calibrate

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// distribution describes some thousand times at most, which it sorts: precise,
// unlike a histogram. That of none is zero.
func distribution(times []time.Duration) load.Distribution {
	if len(times) == 0 {
		return load.Distribution{}
	}
	slices.Sort(times)
	n := len(times)
	var sum time.Duration
	for _, t := range times {
		sum += t
	}
	// The least value that is not exceeded by a share of q.
	at := func(q float64) time.Duration { return times[min(n-1, int(q*float64(n)))] }
	return load.Distribution{
		Count: uint64(n), Min: times[0], Mean: sum / time.Duration(n), Max: times[n-1],
		P50: at(0.50), P90: at(0.90), P99: at(0.99), P999: at(0.999),
	}
}
