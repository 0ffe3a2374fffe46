package session

import (
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/live"
)

// ways are the servers that the streams of pulls come through, of origins that say so.
type ways struct {
	mu   sync.Mutex
	list map[*live.Publisher]edge.Way
}

// Way returns the servers that a stream comes through by pulls and pushes, this one first. A
// server that is on it must not pull the stream from here.
func (h *Host) Way(st *live.Stream) edge.Way {
	way := h.wayOfPull(st)
	if way == nil {
		for _, id := range h.Passed(st) {
			way = way.Via(id)
		}
	}
	return way.Via(h.ID)
}

func (h *Host) wayOfPull(st *live.Stream) edge.Way {
	h.ways.mu.Lock()
	defer h.ways.mu.Unlock()
	return h.ways.list[st.Publisher()]
}

// ComesThrough notes the servers that a pull's stream comes through; nil: it is over.
func (h *Host) ComesThrough(p *live.Publisher, way edge.Way) {
	h.ways.mu.Lock()
	defer h.ways.mu.Unlock()
	if delete(h.ways.list, p); len(way) == 0 {
		return
	}
	if h.ways.list == nil {
		h.ways.list = map[*live.Publisher]edge.Way{}
	}
	h.ways.list[p] = way
}
