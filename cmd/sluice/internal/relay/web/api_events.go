package web

import (
	"net/http"
	"strconv"
)

// getEvents answers /api/events?after=N: the latest events, those after number N.
// The answer's last is the N of the next request.
func (w *Server) getEvents(rw http.ResponseWriter, r *http.Request) {
	var after int64
	if text := r.URL.Query().Get("after"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			answerError(rw, http.StatusBadRequest, "after: "+strconv.QuoteToASCII(text[:min(len(text), 20)])+" is not a number")
			return
		}
		after = n
	}
	events, last := w.Recent.After(after)
	answerJSON(rw, map[string]any{"events": events, "last": last})
}
