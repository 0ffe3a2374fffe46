package soak

import (
	"math/bits"
	"time"
)

// A histogram counts durations in steps of an eighth at most. Its size is fixed: what
// the watch keeps is part of the memory that it watches.
type histogram struct {
	counts [64 << 3]uint32
	n      int
}

func (h *histogram) add(d time.Duration) {
	h.counts[step(uint64(max(d, 0)))]++
	h.n++
}

// step numbers the steps by the highest bit of v and the three below it.
func step(v uint64) int {
	if v < 8 {
		return int(v)
	}
	shift := bits.Len64(v) - 4
	return shift<<3 + int(v>>shift)
}

// percentile returns the least duration of the step that p of 100 do not exceed, or
// -1 s when there is none.
func (h *histogram) percentile(p int) time.Duration {
	left := h.n * p / 100
	for i, count := range h.counts {
		left -= int(count)
		if left < 0 {
			return least(i)
		}
	}
	return -time.Second
}

// least is the inverse of step.
func least(i int) time.Duration {
	if i < 16 {
		return time.Duration(i)
	}
	shift := i>>3 - 1
	return time.Duration(i-shift<<3) << shift
}
