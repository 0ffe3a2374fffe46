package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

func answerError(rw http.ResponseWriter, status int, reason string) {
	h := rw.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	rw.WriteHeader(status)
	rw.Write(errorText(reason))
}

// errorText is the body of an error answer.
func errorText(reason string) []byte {
	text, err := json.Marshal(map[string]string{"error": reason})
	if err != nil {
		panic("relay: " + err.Error()) // a string
	}
	return append(text, '\n')
}

func answerJSON(rw http.ResponseWriter, v any) { answerWith(rw, http.StatusOK, v) }

func answerWith(rw http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		answerError(rw, http.StatusInternalServerError, err.Error())
		return
	}
	h := rw.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	rw.WriteHeader(status)
	rw.Write(append(text, '\n'))
}

func answerBytes(rw http.ResponseWriter, status int, body []byte) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	rw.Write(body)
}

func (w *Server) answerDone(rw http.ResponseWriter, err error) {
	switch {
	case err == nil:
		rw.WriteHeader(http.StatusNoContent)
	case errors.Is(err, archive.ErrNotFound):
		answerError(rw, http.StatusNotFound, err.Error())
	case errors.Is(err, archive.ErrWriting):
		answerError(rw, http.StatusConflict, err.Error())
	default:
		status, reason := session.Refusal(err)
		answerError(rw, status, reason)
	}
}

// reads reports whether a request is GET or HEAD, and answers it if not. also are the other
// methods of the resource, which the answer names.
func reads(rw http.ResponseWriter, r *http.Request, also ...string) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	onlyHere(rw, strings.Join(append([]string{"GET, HEAD"}, also...), ", "))
	return false
}

// onlyHere answers a request with another method than the allowed ones.
func onlyHere(rw http.ResponseWriter, allowed string) {
	rw.Header().Set("Allow", allowed)
	answerError(rw, http.StatusMethodNotAllowed, "only "+allowed+" here")
}
