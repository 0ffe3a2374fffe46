package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// api answers what is below /api/.
func (w *Server) api(rw http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		// Pages of others may look, as far as anybody may, and change nothing.
		w.cors().preflight(rw, r, "GET, HEAD")
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/api/")
	if id, ok := strings.CutPrefix(path, "clients/"); ok {
		if r.Method != http.MethodDelete {
			rw.Header().Set("Allow", "DELETE")
			answerError(rw, http.StatusMethodNotAllowed, "only DELETE here")
			return
		}
		w.deleteClient(rw, r, id)
		return
	}
	w.cors().allow(rw.Header(), r)
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
		answerError(rw, http.StatusNotFound, "there is no such resource; see /api/streams and /api/clients")
	}
}

// mayRead answers those who may not, and reports whether the request may:
// everybody may, unless there is an API token.
func (w *Server) mayRead(rw http.ResponseWriter, r *http.Request) bool {
	if w.Config().APIToken == "" || w.trusted(r) {
		return true
	}
	w.unauthorized(rw)
	return false
}

func (w *Server) unauthorized(rw http.ResponseWriter) {
	if w.Config().APIToken == "" {
		answerError(rw, http.StatusForbidden, "only from this machine, as long as "+config.EnvAPIToken+" is not set")
		return
	}
	rw.Header().Set("WWW-Authenticate", `Bearer realm="sluice"`)
	answerError(rw, http.StatusUnauthorized, "needs the header Authorization: Bearer with the API token")
}

// trusted reports whether a request has the API token, or comes from this
// machine and from no page of another server.
func (w *Server) trusted(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && w.Config().APIToken != "" {
		got, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(w.Config().APIToken))
		return subtle.ConstantTimeCompare(got[:], want[:]) == 1
	}
	return fromLoopback(r)
}

// fromLoopback reports whether somebody on this machine asks. What a proxy on
// it passes on does not count, nor what a browser on it was made to ask by a
// page from elsewhere: not by its origin, and not by a name that was made to
// point here.
func fromLoopback(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() || !sameOrigin(r) {
		return false
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	_, err = netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "localhost" || host == ""
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
