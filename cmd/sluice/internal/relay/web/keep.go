package web

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/keepalive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
)

// mostReturns is how often a connection may go back to net/http. A page that asks for the
// API over the connection of its player would let it change sides for ever.
const mostReturns = 4

// watchAfter is how long a player may have left before that is noticed, while it waits for
// what comes next. That is rarely later.
const watchAfter = 2 * time.Second

// connKey is the key in a request's context of its connection at net/http.
type connKey struct{}

func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// keeps reports whether a request is one of those that a player of HLS makes again and
// again.
func keeps(r *http.Request) bool { return hls.Live(r.URL.Path) }

// keep takes the connection of a player of HLS over from net/http when a request has been
// answered, so that it takes less memory from then on: not over TLS, and not from a proxy
// whose connections have the requests of many.
func (w *Server) keep(rw *statusWriter, r *http.Request) {
	conn, ok := r.Context().Value(connKey{}).(*listen.Queued)
	if !ok || conn.Returns() >= mostReturns || r.Method != http.MethodGet || !keepalive.Plain(r) || !keeps(r) {
		return
	}
	h := rw.Header()
	if rw.status != http.StatusOK || rw.failed || h.Get("Connection") != "" || h.Get("Content-Length") != strconv.FormatInt(rw.written, 10) {
		return
	}
	c := http.NewResponseController(rw)
	if c.Flush() != nil {
		return
	}
	_, buffered, err := c.Hijack()
	if err != nil {
		return
	}
	w.conns.resting.plays(r) // again, since net/http has it no more
	unread, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
	w.returning.Do(func() { go w.http.Serve(w.kept.Returned()) })
	w.kept.Take(conn, unread)
}

// Kept is how many connections of players of HLS are served without net/http.
func (w *Server) Kept() int { return w.kept.Number() }
