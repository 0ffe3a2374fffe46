package session

import (
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/live"
)

// ways are the servers that the streams of pulls come through, of origins that say so.
type ways struct {
	mu   sync.Mutex
	list map[*live.Publisher]edge.Path
}

// Way returns the servers that a stream comes through, this one first. A server that is on it
// must not pull the stream from here.
func (h *Host) Way(st *live.Stream) edge.Path {
	h.ways.mu.Lock()
	defer h.ways.mu.Unlock()
	return h.ways.list[st.Publisher()].Via(h.ID)
}

// ComesThrough notes the servers that a pull's stream comes through; nil: it is over.
func (h *Host) ComesThrough(p *live.Publisher, way edge.Path) {
	h.ways.mu.Lock()
	defer h.ways.mu.Unlock()
	if delete(h.ways.list, p); len(way) == 0 {
		return
	}
	if h.ways.list == nil {
		h.ways.list = map[*live.Publisher]edge.Path{}
	}
	h.ways.list[p] = way
}
