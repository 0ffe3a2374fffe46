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

// whereKey is the key in the query of a client that asks where it shall connect, because it
// cannot follow a redirect there.
const whereKey = "where"

// place sends a new viewer to another node when this one is full, and reports whether it
// has.
func (w *Server) place(rw http.ResponseWriter, r *http.Request, stream string) bool {
	if websocket.IsWebSocketUpgrade(r) && r.Header.Get("Origin") != "" {
		return false // browsers follow no redirect of a WebSocket (the WebSockets standard, section 2.2); the page asks first
	}
	to := w.placeOf(r, stream)
	if to == "" {
		return false
	}
	h := rw.Header()
	h.Set("Location", to)
	h.Set("Cache-Control", "no-store")
	rw.WriteHeader(http.StatusTemporaryRedirect)
	return true
}

// placeOf returns the URL at another node to which a new viewer is sent, with the query of
// the request; empty when he stays.
func (w *Server) placeOf(r *http.Request, stream string) string {
	if w.Nodes == nil || stream == "" || r.URL.Query().Has(placedKey) || session.FromNode(r.URL.Query()) || r.URL.Query().Has(session.Rewinding) {
		return "" // what is recorded is here alone
	}
	base := w.Nodes.Place(stream, r.TLS != nil)
	if base == "" {
		return ""
	}
	to := strings.TrimSuffix(base, "/") + r.URL.EscapedPath() + "?"
	for part := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if key, _, _ := strings.Cut(part, "="); part != "" && key != whereKey {
			to += part + "&"
		}
	}
	w.Log.Debug("a viewer is sent to another node", "stream", stream, "node", base, "address", r.RemoteAddr)
	return to + placedKey + "=1"
}

// where answers a client that asks where it shall connect to watch a stream: with a URL, or
// an empty one for here. Whether it may is decided there. err is that of the stream's name.
func (w *Server) where(rw http.ResponseWriter, r *http.Request, stream string, err error) {
	if err != nil {
		status, reason := session.Refusal(err)
		answerError(rw, status, reason)
		return
	}
	answerJSON(rw, map[string]string{"url": w.placeOf(r, stream)})
}

// placeOffer is place for the offer of a viewer by WebRTC (RFC 9725, section 4.5). One whose
// token is in a header stays: clients do not send it to another host.
func (w *Server) placeOffer(rw http.ResponseWriter, r *http.Request, info session.Info) bool {
	return info.Protocol == session.WHEP && r.Header.Get("Authorization") == "" && w.place(rw, r, info.Stream)
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

// otherNodes are the URLs at which viewers watch on the other nodes.
func (w *Server) otherNodes() (list []string) {
	for _, name := range w.Nodes.Others() {
		if url := w.Nodes.PlayURL(name); url != "" {
			list = append(list, strings.TrimSuffix(url, "/"))
		}
	}
	return list
}
