package source_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/internal/source"
)

// BenchmarkADeadlineIsSeen measures how long after a deadline was moved to the
// past the reader that waits for memory is notified: the median and the 90th
// percentile.
func BenchmarkADeadlineIsSeen(b *testing.B) {
	near, far := pair(b, "tcp")
	defer far.Close()
	report := make(chan error, 1)
	var w source.Watch
	var took []time.Duration
	for b.Loop() {
		if err := near.SetReadDeadline(time.Time{}); err != nil {
			b.Fatal(err)
		}
		w.Start(near, report)
		// The process has nothing to do, and its timers do not know when that ends.
		at := unix.NsecToTimespec(int64(rand.N(2 * time.Millisecond)))
		_ = unix.Nanosleep(&at, nil) // a signal may cut it short
		began := time.Now()
		if err := near.SetReadDeadline(time.Unix(1, 0)); err != nil {
			b.Fatal(err)
		}
		<-report
		took = append(took, time.Since(began))
		w.Stop()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-us")
	b.ReportMetric(float64(took[len(took)*9/10].Microseconds()), "p90-us")
	b.ReportMetric(0, "ns/op")
}
