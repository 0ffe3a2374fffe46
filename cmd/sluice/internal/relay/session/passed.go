package session

import (
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
