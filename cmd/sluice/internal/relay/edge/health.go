package edge

import (
	"maps"
	"slices"
	"time"
)

// unreachable is how long an origin is tried last after it could not be reached.
const unreachable = 10 * time.Second

// health remembers which origins, by their addresses, could not be reached recently.
// The puller's lock guards it.
type health struct {
	failed map[string]time.Time // when
}

// order returns the origins in the order to try them.
func (h *health) order(all []*Origin, now time.Time) []*Origin {
	list := slices.Clone(all)
	slices.SortStableFunc(list, func(a, b *Origin) int {
		return h.rank(a, now) - h.rank(b, now)
	})
	return list
}

func (h *health) rank(o *Origin, now time.Time) int {
	if at, ok := h.failed[o.String()]; ok && now.Sub(at) < unreachable {
		return 1
	}
	return 0
}

// note records how an attempt ended.
func (h *health) note(o *Origin, reached bool, now time.Time) {
	if reached {
		delete(h.failed, o.String())
		return
	}
	if h.failed == nil {
		h.failed = make(map[string]time.Time)
	}
	maps.DeleteFunc(h.failed, func(_ string, at time.Time) bool { return now.Sub(at) >= unreachable })
	h.failed[o.String()] = now
}
