package web

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

const (
	// mostTexts is how many requests have their body or their answer in memory at a time, and
	// mostTextsPerAddress how many of one address. The metrics are 2 MB while they are made.
	mostTexts, mostTextsPerAddress = 16, 8
	// silentText is for how long one of them may send and take nothing while others wait: an
	// answer for which other nodes are asked takes as long.
	silentText = 4 * time.Second
	// textPart is how much of an answer is written at a time.
	textPart = 16 << 10
	// bodyPart is how much of a body has to come in silentText, unless it ends: a byte now and then would keep the
	// place for as long as a body may take.
	bodyPart = 1 << 10
)

// texts are the places of requests whose body or answer is in memory as a whole: offers, the API
// and the metrics. A client that stops half way would keep it there.
type texts struct {
	listen.Arrivals
	displaced sync.Once // the log says that there was one
}

// enterText waits for a place, or answers that there is none. The caller must call leave. The time for the body
// begins with the place: until then it is not read.
func (w *Server) enterText(rw http.ResponseWriter, r *http.Request) (place *listen.Arrival, leave func(), ok bool) {
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	place, err := w.Texts.Enter(r.Context(), session.Info{Address: r.RemoteAddr}.IP(), func(reason error) {
		w.Texts.displaced.Do(func() {
			w.Log.Warn("requests are ended that others wait for", "address", r.RemoteAddr, "reason", reason)
		})
		if conn != nil {
			below(conn).Close()
		}
	})
	if err != nil {
		rw.Header().Set("Retry-After", "5")
		answerError(rw, http.StatusServiceUnavailable, "too many requests at a time")
		return nil, nil, false
	}
	if conn == nil {
		return place, place.Leave, true
	}
	reads := http.NewResponseController(rw)
	_ = reads.SetReadDeadline(time.Time{})
	came := listen.Late(below(conn), w.Times.Request, func() { _ = reads.SetReadDeadline(time.Unix(1, 0)) })
	return place, func() {
		came()
		_ = reads.SetReadDeadline(time.Now().Add(w.Times.Request)) // net/http reads what is left of the body
		place.Leave()
	}, true
}

// text answers a request for which there is a place.
func (w *Server) text(serve http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		place, leave, ok := w.enterText(rw, r)
		if !ok {
			return
		}
		defer leave()
		r.Body = &textBody{ReadCloser: r.Body, place: place}
		serve(textWriter{rw, place}, r)
	}
}

// A textBody notes what a client sends.
type textBody struct {
	io.ReadCloser
	place *listen.Arrival
	part  int // bytes that have come and are not noted
}

func (b *textBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.part += n; b.part >= bodyPart || err != nil {
		b.part = 0
		b.place.Progress()
	}
	return n, err
}

// A textWriter notes what a client takes.
type textWriter struct {
	http.ResponseWriter
	place *listen.Arrival
}

func (w textWriter) Write(p []byte) (n int, err error) {
	for {
		part := p[n:min(n+textPart, len(p))]
		k, err := w.ResponseWriter.Write(part)
		w.place.Progress()
		if n += k; err != nil || n == len(p) {
			return n, err
		}
	}
}

// Unwrap lets net/http's ResponseController reach the connection.
func (w textWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
