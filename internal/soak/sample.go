package soak

import (
	"fmt"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// A Sample is what a process held at one time. What could not be read is -1.
type Sample struct {
	At          time.Duration // since the beginning
	Resident    float64       // bytes
	Heap        float64       // bytes that the last collection found in use; of this process only
	Goroutines  float64       // of this process only
	Descriptors float64
	Blocks      float64 // bytes of blocks that are out of the watched allocators
	P99         float64 // seconds, of the latencies since the last sample
}

// A quantity is one curve.
type quantity struct {
	name, unit string
	of         func(Sample) float64
	// slack is how much it may grow whatever its size, besides a part of it.
	slack float64
	// judged is false for curves that are shown only.
	judged bool
}

var quantities = []quantity{
	{"resident memory", "MiB", func(s Sample) float64 { return s.Resident / (1 << 20) }, 1, true},
	{"heap in use", "MiB", func(s Sample) float64 { return s.Heap / (1 << 20) }, 1, true},
	{"goroutines", "", func(s Sample) float64 { return s.Goroutines }, 5, true},
	{"descriptors", "", func(s Sample) float64 { return s.Descriptors }, 5, true},
	{"blocks out", "MiB", func(s Sample) float64 { return s.Blocks / (1 << 20) }, 1, true},
	{"99th percentile", "ms", func(s Sample) float64 { return s.P99 * 1000 }, 0, false},
}

// ofProcess reads what /proc says of a process.
func ofProcess(pid int) (resident, descriptors float64) {
	dir := "/proc/" + strconv.Itoa(pid)
	resident, descriptors = -1, -1
	if statm, err := os.ReadFile(dir + "/statm"); err == nil {
		var size, pages int
		if _, err := fmt.Sscan(string(statm), &size, &pages); err == nil {
			resident = float64(pages) * float64(os.Getpagesize())
		}
	}
	if open, err := os.ReadDir(dir + "/fd"); err == nil {
		descriptors = float64(len(open))
	}
	return resident, descriptors
}

// ofRuntime reads what this process's runtime says.
func ofRuntime() (heap, goroutines float64) {
	read := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/sched/goroutines:goroutines"}}
	metrics.Read(read)
	values := [2]float64{-1, -1}
	for i, s := range read {
		if s.Value.Kind() == metrics.KindUint64 {
			values[i] = float64(s.Value.Uint64())
		}
	}
	return values[0], values[1]
}

func (s Sample) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8v", s.At.Round(time.Second))
	for _, q := range quantities {
		if v := q.of(s); v >= 0 {
			fmt.Fprintf(&b, "  %s %.4g %s", q.name, v, q.unit)
		}
	}
	return b.String()
}
