package live

import (
	"math"
	"sync/atomic"
)

// An account is what the rings of a hub's streams hold together, and may. What is kept of a
// publisher that waits counts as a ring.
type account struct {
	most  int64 // bytes; 0: no limit
	held  atomic.Int64
	rings atomic.Int64
	// relieve is called without a stream's lock when rings hold too much.
	relieve func()
}

// minShare is what a ring may hold in any case: blocks of tags and of chunk headers
// that are being filled, and as much again.
const minShare = 256 << 10

// share returns how many bytes of memory one ring may keep. Up to half of the limit
// that is any number. From there on every ring has the same part at most, so that
// together they stay within the limit.
func (a *account) share() int64 {
	if a.most == 0 || a.held.Load() <= a.most/2 {
		return math.MaxInt64
	}
	return max(a.most/max(a.rings.Load(), 1), minShare)
}
