package live

import (
	"math"
	"sync/atomic"
)

// An account is what the rings of a hub's streams hold together, and may.
type account struct {
	most    int64 // bytes; 0: no limit
	held    atomic.Int64
	streams atomic.Int64
}

// minShare is what a ring may hold in any case: blocks of tags and of chunk headers
// that are being filled, and as much again.
const minShare = 4 * fullSegment

// share returns how many bytes of memory one ring may keep. Up to half of the limit
// that is any number. From there on every ring has the same part at most, so that
// together they stay within the limit.
func (a *account) share() int64 {
	if a.most == 0 || a.held.Load() <= a.most/2 {
		return math.MaxInt64
	}
	return max(a.most/max(a.streams.Load(), 1), minShare)
}

// Held returns how many bytes of memory the streams' rings keep.
func (h *Hub) Held() int64 { return h.account.held.Load() }

// Trim drops the frames that streams may not keep any more, also of streams without
// new frames. Call it from time to time: a stream with new frames is trimmed with each
// of them.
func (h *Hub) Trim() {
	for _, s := range h.Streams() {
		s.mu.Lock()
		s.trim(s.clock())
		s.mu.Unlock()
	}
}

// trim is called with the lock held.
func (s *Stream) trim(now int64) {
	s.ring.trim(&s.options, s.account.share(), now)
}
