package web

import (
	"net/http"
	"strings"
)

// resources are all of them, by name.
func (w *Server) resources() map[string]resource {
	return map[string]resource{
		"bans":    w.list(w.getBans, w.postBan, w.liftBan),
		"clients": w.clients,
		"cluster": w.reading(w.getCluster),
		"events":  w.reading(w.events),
		"pushes":  w.list(w.getAllPushes, w.postPush, w.deletePush),
		"reload":  w.reload,
		"streams": w.streams,
		"tokens":  w.tokens,
	}
}

// api answers requests below /api/.
func (w *Server) api(rw http.ResponseWriter, r *http.Request) {
	if !ownPage(rw, r) {
		return
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	switch answer := w.paths[first]; {
	case answer == nil:
		w.noResource(rw, r)
	case strings.HasSuffix(rest, "/doctor"): // it takes seconds, and is short
		answer(rw, r, rest)
	default:
		w.text(func(rw http.ResponseWriter, r *http.Request) { answer(rw, r, rest) })(rw, r)
	}
}

// reading is for a resource that is one list to be read.
func (w *Server) reading(get http.HandlerFunc) resource {
	return func(rw http.ResponseWriter, r *http.Request, rest string) {
		switch {
		case rest != "":
			w.noResource(rw, r)
		case reads(rw, r) && w.mayRead(rw, r):
			get(rw, r)
		}
	}
}

// list is for a list that is read by GET and added to by POST, and whose elements are
// removed by DELETE: of those who may.
func (w *Server) list(get, add http.HandlerFunc, remove resource) resource {
	return func(rw http.ResponseWriter, r *http.Request, id string) {
		switch {
		case id == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			if w.mayRead(rw, r) {
				get(rw, r)
			}
		case id == "" && r.Method == http.MethodPost:
			if w.mayChange(rw, r) {
				add(rw, r)
			}
		case id != "" && r.Method == http.MethodDelete:
			if w.mayChange(rw, r) {
				remove(rw, r, id)
			}
		case id != "":
			onlyHere(rw, "DELETE")
		default:
			onlyHere(rw, "GET, HEAD, POST")
		}
	}
}

// clients answers /api/clients and /api/clients/ID: GET lists, DELETE ends one.
func (w *Server) clients(rw http.ResponseWriter, r *http.Request, id string) {
	switch {
	case id == "":
		if reads(rw, r) && w.mayRead(rw, r) {
			w.everywhere(rw, r, w.getClients, "clients")
		}
	case r.Method == http.MethodDelete:
		w.deleteClient(rw, r, id)
	default:
		onlyHere(rw, "DELETE")
	}
}

// streams answers /api/streams and /api/streams/NAME.
func (w *Server) streams(rw http.ResponseWriter, r *http.Request, name string) {
	switch {
	case !reads(rw, r) || !w.mayRead(rw, r):
	case name == "":
		w.everywhere(rw, r, w.getStreams, "streams")
	default:
		stream, doctor := strings.CutSuffix(name, "/doctor")
		if node := w.nodeOf(r, w.nodeWith(stream)); node != "" {
			w.pass(rw, r, node)
		} else if doctor {
			w.getDoctor(rw, r, stream)
		} else {
			w.getStream(rw, r, name)
		}
	}
}

// nodeWith returns the other node that has a stream, when this one has not.
func (w *Server) nodeWith(stream string) string {
	if w.Nodes == nil {
		return ""
	}
	if _, ok := w.Hub.Stream(stream); ok {
		return ""
	}
	return w.Nodes.Has(stream)
}
