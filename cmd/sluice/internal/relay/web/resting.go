package web

import (
	"net"
	"net/http"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
)

// restingPerViewer is how many connections of players may be between two requests, for each viewer of
// HLS: players of low latency have one for playlists and one for media.
const restingPerViewer = 2

// resting are the connections of players of HLS, with true between two requests. They need no place
// among the arrivals: a crowd of admitted viewers is larger than that, and each answer would cost it
// a connection, while those that come for the next ones keep others from a place.
type resting struct {
	mu    sync.Mutex
	conns map[*listen.Queued]bool
	n     int // of those between two requests
}

// plays notes the connection of a request for HLS that was answered.
func (x *resting) plays(r *http.Request) {
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	q, ok := below(conn).(*listen.Queued)
	if !ok {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.conns == nil {
		x.conns = map[*listen.Queued]bool{}
	}
	if !x.conns[q] {
		x.conns[q] = false
	}
}

// rest reports whether q may wait for its next request without a place, as at most so many do.
func (x *resting) rest(q *listen.Queued, most func() int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if rests, plays := x.conns[q]; rests || !plays || x.n >= most() {
		return rests
	}
	x.conns[q] = true
	x.n++
	return true
}

// asks notes that q has a request, or with over that it has ended.
func (x *resting) asks(q *listen.Queued, over bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	rests, plays := x.conns[q]
	if rests {
		x.n--
		x.conns[q] = false
	}
	if plays && over {
		delete(x.conns, q)
	}
}

// mostResting is how many may rest without a place: none while memory or descriptors are short.
func (w *Server) mostResting() int {
	if w.Arrivals.Tight() {
		return 0
	}
	return restingPerViewer * w.HLS.Viewers()
}

// Resting is how many connections of players are between two requests, without a place.
func (w *Server) Resting() int {
	w.conns.resting.mu.Lock()
	defer w.conns.resting.mu.Unlock()
	return w.conns.resting.n
}
