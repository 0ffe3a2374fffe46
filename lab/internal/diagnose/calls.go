package diagnose

import (
	"cmp"
	"slices"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

func oneOf(names ...string) matcher {
	return func(fn string) bool { return slices.Contains(names, fn) }
}

// System calls that move bytes, by Linux's names.
var (
	readCalls  = oneOf("read", "readv", "pread64", "preadv", "preadv2", "recvfrom", "recvmsg", "recvmmsg")
	writeCalls = oneOf("write", "writev", "pwrite64", "pwritev", "pwritev2", "sendto", "sendmsg", "sendmmsg")
)

// A moved is what strace saw of the calls of one direction together.
type moved struct {
	count  int64 // calls that moved something
	failed int64 // EAGAIN, mostly
	again  int64 // moved under 512 bytes, right after another in the same direction
	full   int64 // moved as much as was asked for
	bytes  int64
	sizes  map[int64]int64 // calls by what they moved
	asked  map[int64]int64 // calls by what was asked for
}

func movedBy(c *evidence.Calls, kind matcher) moved {
	m := moved{sizes: map[int64]int64{}, asked: map[int64]int64{}}
	for _, call := range c.ByName {
		if !kind(call.Name) {
			continue
		}
		m.count += call.Count - call.Errors
		m.failed += call.Errors
		m.again += call.Again
		m.full += call.Full
		m.bytes += call.Bytes
		for _, size := range call.Sizes {
			if size.Bytes == 0 { // the end of a stream
				m.count -= size.Count
				continue
			}
			m.sizes[size.Bytes] += size.Count
		}
		for _, size := range call.Asked {
			m.asked[size.Bytes] += size.Count
		}
	}
	return m
}

// part is n of the calls that moved something.
func (m *moved) part(n int64) float64 {
	if m.count <= 0 || n <= 0 {
		return 0
	}
	return min(1, float64(n)/float64(m.count))
}

// askedUnder is the part of the calls that asked for less than limit bytes.
func (m *moved) askedUnder(limit int64) float64 {
	var under, all int64
	for size, n := range m.asked {
		all += n
		if size < limit {
			under += n
		}
	}
	if all == 0 {
		return 0
	}
	return float64(under) / float64(all)
}

// usual returns the most frequent of sizes, 0 being none, and its part of the
// calls that are in it.
func usual(sizes map[int64]int64) (size int64, part float64) {
	var all int64
	keys := make([]int64, 0, len(sizes))
	for k, n := range sizes {
		all += n
		keys = append(keys, k)
	}
	if all == 0 {
		return 0, 0
	}
	slices.Sort(keys)
	best := slices.MaxFunc(keys, func(a, b int64) int { return cmp.Compare(sizes[a], sizes[b]) })
	return best, float64(sizes[best]) / float64(all)
}

// most returns the largest size that is at least a hundredth of them: odd ones
// at ends and beginnings do not count.
func most(sizes map[int64]int64) int64 {
	var all, largest int64
	for _, n := range sizes {
		all += n
	}
	for k, n := range sizes {
		if n*100 >= all {
			largest = max(largest, k)
		}
	}
	return largest
}

// empty is how many calls found nothing to do for each that did.
func (m *moved) empty() float64 {
	if m.count <= 0 {
		return 0
	}
	return float64(m.failed) / float64(m.count)
}
