package web

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

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
		if f.timers == nil {
			f.timers = map[net.Conn]*time.Timer{}
		}
		f.timers[conn] = time.AfterFunc(f.within, func() { f.late(conn) })
		return
	}
	// StateActive: the first request header was read.
	if t := f.timers[conn]; t != nil {
		t.Stop()
		delete(f.timers, conn)
	}
}

// late closes a connection, unless it is this server that has not read what has come: net/http has
// limits of its own, from when it reads.
func (f *firstHeaders) late(conn net.Conn) {
	conn, known := below(conn), conn // the Close of TLS would wait for the handshake
	if listen.Unread(conn) == 0 {
		conn.Close()
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.timers[known]; t != nil {
		t.Reset(f.within)
	}
}
