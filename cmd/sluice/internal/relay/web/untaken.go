package web

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

const (
	// untakenFor is for how long a client may take nothing of its answer while memory is short,
	// or while others have no place.
	untakenFor = 2 * time.Second
	// lookEvery is how often it is looked who takes nothing while there is no place.
	lookEvery = 500 * time.Millisecond
	// perAnswer is what an answer takes, in bytes, of which a client takes nothing: a goroutine,
	// buffers, and most of all what the kernel has.
	perAnswer = 128 << 10
)

// answering are the connections on which requests are answered. The kernel and the server hold
// part of an answer for a client that takes it slowly.
type answering struct {
	mu    sync.Mutex
	conns map[net.Conn]*taking
	ended int64

	files  places // of those that are longer than what the kernel takes at once
	looked time.Time
}

// bound sets how much memory files may take while they are sent, in bytes; 0 is no limit.
func (a *answering) bound(memory int64) {
	a.files.most, a.files.perAddress = math.MaxInt, math.MaxInt
	if memory > 0 {
		a.files.most = int(memory / perAnswer)
		a.files.perAddress = max(a.files.most/2, 1)
	}
}

// errManyFiles: there is no place for one more.
var errManyFiles = fmt.Errorf("%w: too many files are being sent", session.ErrFull)

// Sending takes a place for a file that is sent until leave is called.
func (w *Server) Sending(r *http.Request) (leave func(), err error) {
	a := &w.conns.answering
	leave, _, _, ok := a.files.enter(r)
	if !ok {
		if now := time.Now(); a.due(now) {
			w.Relieve(now)
		}
		return nil, errManyFiles
	}
	return leave, nil
}

// due reports whether it is time to look who takes nothing.
func (a *answering) due(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	due := now.Sub(a.looked) >= lookEvery
	if due {
		a.looked = now
	}
	return due
}

// taking is what a client had taken at the latest look at which that was news.
type taking struct {
	acked int64
	at    time.Time // the zero value: it was not looked at yet
}

// state follows a connection.
func (a *answering) state(conn net.Conn, state http.ConnState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if state != http.StateActive {
		delete(a.conns, conn)
		return
	}
	if a.conns == nil {
		a.conns = map[net.Conn]*taking{}
	}
	a.conns[conn] = &taking{}
}

// endUntaken ends connections whose client has taken nothing for a while although there is
// more for it, and returns how many. It is called every half second while memory is short.
func (a *answering) endUntaken(now time.Time) (ended int) {
	a.mu.Lock()
	var gone []net.Conn
	for conn, t := range a.conns {
		acked, more, known := session.Sent(below(conn))
		if !known || !more || acked != t.acked || t.at.IsZero() {
			t.acked, t.at = acked, now
		} else if now.Sub(t.at) >= untakenFor {
			gone = append(gone, conn)
			delete(a.conns, conn)
		}
	}
	a.ended += int64(len(gone))
	a.mu.Unlock()
	for _, conn := range gone {
		conn = below(conn) // the Close of TLS would wait for the client
		if c, ok := conn.(interface{ SetLinger(seconds int) error }); ok {
			_ = c.SetLinger(0) // the kernel keeps nothing of the answer
		}
		conn.Close()
	}
	return len(gone)
}

// number is how many were ended.
func (a *answering) number() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// Relieve ends answers that clients do not take. It is called while memory is short.
func (w *Server) Relieve(now time.Time) {
	if n := w.conns.answering.endUntaken(now); n > 0 {
		w.Log.Warn("answers are ended that clients do not take: memory is short, or others wait", "connections", n)
	}
}
