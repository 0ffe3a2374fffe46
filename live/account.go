package live

import "sync/atomic"

// An account is what the rings of a hub's streams hold together, and may.
type account struct {
	most    int64 // bytes; 0: no limit
	held    atomic.Int64
	streams atomic.Int64
}

// minShare is what a ring may hold in any case.
const minShare = 64 << 10

// share returns how many bytes of frames one ring may keep; own is its own bound.
// Up to half of the limit that is own. From there on every ring has the same part
// at most, so that together they stay within the limit.
func (a *account) share(own int) int {
	if a.most == 0 || a.held.Load() <= a.most/2 {
		return own
	}
	part := int(a.most / max(a.streams.Load(), 1))
	// The first and the last segment are not full, and none quite is.
	return min(own, max(part*7/8-2*fullSegment, minShare))
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
	s.ring.trim(&s.options, s.account.share(s.options.GOPBytes), now)
}
