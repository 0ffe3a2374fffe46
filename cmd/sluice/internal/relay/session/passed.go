package session

import (
	"fmt"
	"maps"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/live"
)

// passed are the servers that have pushed what the streams' publishers send, of those who
// say so.
type passed struct {
	mu   sync.Mutex // before all others: held while a publisher is made
	list map[*live.Stream]edge.Path
}

// Passed returns the servers through which a stream has come here by pushes.
func (h *Host) Passed(st *live.Stream) edge.Path {
	h.passed.mu.Lock()
	defer h.passed.mu.Unlock()
	return h.passed.list[st]
}

// note keeps the way of a stream's publisher, until the stream has ended. The lock is held.
func (x *passed) note(st *live.Stream, way edge.Path) {
	maps.DeleteFunc(x.list, func(st *live.Stream, _ edge.Path) bool {
		select {
		case <-st.Done():
			return true
		default:
			return false
		}
	})
	if x.list == nil {
		x.list = map[*live.Stream]edge.Path{}
	}
	if delete(x.list, st); len(way) > 0 {
		x.list[st] = way
	}
}

// admitWay refuses what this server has pushed and gets back, unless it comes directly and
// under a name of its own: in the place of another publisher it may be what it comes from.
// The lock is held.
func (h *Host) admitWay(info Info) error {
	back, direct := info.Via.Comes(h.ID)
	if !back {
		return nil
	}
	if st, there := h.Hub.Stream(info.Stream); direct && there {
		before, _ := h.passed.list[st].Comes(h.ID)
		direct = before && st.Publisher() == nil
	}
	if !direct {
		return fmt.Errorf("%w: %s", ErrLoop, info.Stream)
	}
	return nil
}
