package edge

import (
	"slices"
	"time"
)

// unreachable is for how long an origin that could not be reached is asked after
// the others.
const unreachable = 10 * time.Second

// health knows which origins could not be reached lately. The puller's lock
// guards it.
type health struct {
	failed map[*Origin]time.Time // when
}

// order returns the origins as they are to be asked.
func (h *health) order(all []*Origin, now time.Time) []*Origin {
	list := slices.Clone(all)
	slices.SortStableFunc(list, func(a, b *Origin) int {
		return h.rank(a, now) - h.rank(b, now)
	})
	return list
}

func (h *health) rank(o *Origin, now time.Time) int {
	if at, ok := h.failed[o]; ok && now.Sub(at) < unreachable {
		return 1
	}
	return 0
}

// note remembers how an attempt ended.
func (h *health) note(o *Origin, reached bool, now time.Time) {
	if reached {
		delete(h.failed, o)
		return
	}
	if h.failed == nil {
		h.failed = make(map[*Origin]time.Time)
	}
	h.failed[o] = now
}
