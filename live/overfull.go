package live

import (
	"fmt"
	"slices"
)

// overfull reports whether rings hold more than they may together, and this one more than it may
// in any case. The lock is held.
func (s *Stream) overfull() bool {
	a := s.account
	return a.most > 0 && a.held.Load() > a.most && s.ring.memory() > minShare
}

// relieve ends the publishers of the streams with the largest rings, while all together hold too
// much and those more than their parts. What goes without that goes first: frames beyond the
// newest, what is kept for viewers who may come while there is no publisher, and the rest of
// streams that are over for viewers who have not taken it yet.
func (h *Hub) relieve() {
	h.relieving.Lock()
	defer h.relieving.Unlock()
	a := &h.account
	if a.most == 0 || a.held.Load() <= a.most {
		return
	}
	streams := h.Streams()
	h.mu.Lock()
	over := h.over
	h.over = nil
	h.mu.Unlock()
	for _, s := range slices.Concat(over, streams) {
		s.mu.Lock()
		if s.end.over || s.now == nil && s.holders == 0 {
			s.ring.empty()
		}
		s.trim(s.clock())
		s.mu.Unlock()
	}
	for a.held.Load() > a.most && a.rings.Load() > 1 { // a lone one is in no other's way
		var largest *Stream
		most := a.share()
		for _, s := range streams {
			s.mu.Lock()
			n := s.ring.memory()
			s.mu.Unlock()
			if n > most || n == most && largest != nil && s.begun.After(largest.begun) {
				largest, most = s, n
			}
		}
		if largest == nil {
			return
		}
		largest.giveWay()
	}
}

// giveWay ends the stream's publisher, if there is one, and lets its frames go.
func (s *Stream) giveWay() {
	s.mu.Lock()
	p, held := s.now, s.ring.memory()
	s.ring.empty()
	s.mu.Unlock()
	if p != nil {
		p.finish(fmt.Errorf("%w: its newest frame takes %d of %d bytes", ErrOverfull, held, s.account.most))
		s.leave(p)
	}
}
