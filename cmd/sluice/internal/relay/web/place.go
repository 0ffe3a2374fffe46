package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/websocket"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// placedKey is the key in the query of a viewer who was sent here by another node. He is
// not sent on: so there is no circle.
const placedKey = "placed"

// place sends a new viewer to another node when this one is full, and reports whether it
// has.
func (w *Server) place(rw http.ResponseWriter, r *http.Request, stream string) bool {
	if w.Nodes == nil || stream == "" || r.URL.Query().Has(placedKey) || session.FromNode(r.URL.Query()) {
		return false
	}
	if websocket.IsWebSocketUpgrade(r) && r.Header.Get("Origin") != "" {
		return false // browsers follow no redirect of a WebSocket (the WebSockets standard, section 2.2)
	}
	base := w.Nodes.Place(stream, r.TLS != nil)
	if base == "" {
		return false
	}
	to := strings.TrimSuffix(base, "/") + r.URL.EscapedPath() + "?"
	if r.URL.RawQuery != "" {
		to += r.URL.RawQuery + "&"
	}
	to += placedKey + "=1"
	w.Log.Debug("a viewer is sent to another node", "stream", stream, "node", base, "address", r.RemoteAddr)
	h := rw.Header()
	h.Set("Location", to)
	h.Set("Cache-Control", "no-store")
	rw.WriteHeader(http.StatusTemporaryRedirect)
	return true
}

// placeHLS is place for the request with which a viewer of HLS begins: what follows goes
// where that was answered.
func (w *Server) placeHLS(rw http.ResponseWriter, r *http.Request) bool {
	app, name, ok := hls.Entry(r.URL.Path)
	if !ok || w.Nodes == nil {
		return false
	}
	stream, err := session.StreamName(app, name)
	return err == nil && w.place(rw, r, stream)
}

// nodeOrigins are the origins of the other nodes' pages, and where viewers are sent to.
func (w *Server) nodeOrigins() (list []string) {
	if w.Nodes == nil {
		return nil
	}
	for _, text := range w.Nodes.PlayURLs() {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			list = append(list, strings.ToLower(u.Scheme+"://"+u.Host))
		}
	}
	return list
}
