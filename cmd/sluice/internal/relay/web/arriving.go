package web

import (
	"crypto/tls"
	"net"
	"net/http"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/live"
)

// state follows a connection: it holds a place among the arrivals until the
// header of a request has come, and between two requests, unless it is a player's.
func (w *Server) state(conn net.Conn, state http.ConnState) {
	w.conns.headers.state(conn, state)
	w.conns.answering.state(conn, state)
	q, ok := below(conn).(*listen.Queued)
	if !ok {
		return
	}
	switch state {
	case http.StateActive, http.StateHijacked:
		w.conns.resting.asks(q, state == http.StateHijacked)
		q.Arrived()
	case http.StateIdle:
		if !w.conns.resting.rest(q, w.mostResting) {
			q.Rest()
		}
	default:
		w.conns.resting.asks(q, state == http.StateClosed)
	}
}

// below is the connection under TLS.
func below(conn net.Conn) net.Conn {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if w, ok := conn.(*live.Wire); ok {
		return w.NetConn()
	}
	return conn
}

func (f *firstHeaders) state(conn net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if state == http.StateNew {
		if f.came == nil {
			f.came = map[net.Conn]func(){}
		}
		known := below(conn) // the Close of TLS would wait for the handshake
		// net/http has limits of its own, from when it reads.
		f.came[conn] = listen.Late(known, f.within, func() { known.Close() })
		return
	}
	// StateActive: the first request header was read.
	if came := f.came[conn]; came != nil {
		came()
		delete(f.came, conn)
	}
}
