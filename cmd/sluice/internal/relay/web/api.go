package web

import (
	"encoding/json"
	"net/http"
	"strings"
)

// api answers requests below /api/.
func (w *Server) api(rw http.ResponseWriter, r *http.Request) {
	if !ownPage(rw, r) {
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/api/")
	if path == "bans" || strings.HasPrefix(path, "bans/") {
		w.bans(rw, r, strings.TrimPrefix(strings.TrimPrefix(path, "bans"), "/"))
		return
	}
	if path == "pushes" || strings.HasPrefix(path, "pushes/") {
		w.pushes(rw, r, strings.TrimPrefix(strings.TrimPrefix(path, "pushes"), "/"))
		return
	}
	if id, ok := strings.CutPrefix(path, "clients/"); ok {
		if r.Method != http.MethodDelete {
			rw.Header().Set("Allow", "DELETE")
			answerError(rw, http.StatusMethodNotAllowed, "only DELETE here")
			return
		}
		w.deleteClient(rw, r, id)
		return
	}
	name, one := strings.CutPrefix(path, "streams/")
	switch {
	case !reads(rw, r):
	case !w.mayRead(rw, r):
	case path == "streams":
		w.getStreams(rw, r)
	case one:
		w.getStream(rw, r, name)
	case path == "clients":
		w.getClients(rw, r)
	default:
		answerError(rw, http.StatusNotFound, "there is no such resource; see /api/streams, /api/clients, /api/bans and /api/pushes")
	}
}

func answerJSON(rw http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		answerError(rw, http.StatusInternalServerError, err.Error())
		return
	}
	h := rw.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	rw.Write(append(text, '\n'))
}
