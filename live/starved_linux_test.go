package live

import (
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// starved finds out for how long this process had no processor: a test that measures
// times says nothing about the program when that was long.
type starved struct {
	waited map[string]time.Duration // by thread, at the latest look
	most   time.Duration            // that a thread waited from one look to the next
	before *metrics.Float64Histogram
}

func newStarved() *starved {
	s := &starved{waited: make(map[string]time.Duration), before: goroutineWaits()}
	s.look()
	s.most = 0
	return s
}

// look is called often: of each thread it is known for how long it has waited in all.
func (s *starved) look() {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, f := range files {
		p, err := os.ReadFile(f)
		fields := strings.Fields(string(p)) // time on a processor, time waiting for one, slices (proc(5))
		if err != nil || len(fields) < 2 {
			continue // it has ended
		}
		ns, _ := strconv.ParseInt(fields[1], 10, 64)
		now := time.Duration(ns)
		if before, ok := s.waited[f]; ok {
			s.most = max(s.most, now-before)
		}
		s.waited[f] = now
	}
}

// worst is the longest that was seen: of a thread that waited for the kernel, between two
// looks, or of a goroutine that waited for the runtime.
func (s *starved) worst() time.Duration {
	s.look()
	most := s.most
	for i, n := range goroutineWaits().Counts {
		if n > s.before.Counts[i] {
			most = max(most, time.Duration(s.before.Buckets[i]*float64(time.Second)))
		}
	}
	return most
}

// goroutineWaits is how often goroutines that could run have waited for how long.
func goroutineWaits() *metrics.Float64Histogram {
	read := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(read)
	return read[0].Value.Float64Histogram()
}
