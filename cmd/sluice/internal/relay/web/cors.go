package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// cors holds the origins whose pages may read from this server (the Fetch
// standard, section 3.2).
type cors struct {
	all     bool
	origins []string
}

func newCORS(setting []string) cors {
	c := cors{}
	for _, o := range setting {
		switch o {
		case "*":
			c.all = true
		case "off":
		default:
			c.origins = append(c.origins, strings.ToLower(o))
		}
	}
	return c
}

// cors returns the current CORS settings.
func (w *Server) cors() cors {
	c := newCORS(w.Config().CORS)
	c.origins = append(c.origins, w.nodeOrigins()...) // whose pages' viewers are sent here
	return c
}

// admits reports whether the page that sent a request may read the answer: the
// request has no page, or a page of this server, or one of an allowed origin.
func (c cors) admits(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin == "" || sameOrigin(r) || c.all || slices.Contains(c.origins, strings.ToLower(origin))
}

// sameOrigin reports whether a request comes from a page of this server, or
// from no page.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// allow adds the header fields that let the page read the answer.
func (c cors) allow(h http.Header, r *http.Request) {
	if c.all {
		h.Set("Access-Control-Allow-Origin", "*")
	} else if len(c.origins) > 0 {
		h.Add("Vary", "Origin")
		if origin := r.Header.Get("Origin"); origin != "" && slices.Contains(c.origins, strings.ToLower(origin)) {
			h.Set("Access-Control-Allow-Origin", origin)
		}
	}
}

// preflight answers OPTIONS for media, where also are the other methods than GET and HEAD. Pages of
// other origins may play but not publish.
func (c cors) preflight(rw http.ResponseWriter, r *http.Request, also ...string) {
	const methods = "GET, HEAD"
	h := rw.Header()
	h.Set("Allow", strings.Join(append([]string{methods}, also...), ", "))
	c.allow(h, r)
	if h.Get("Access-Control-Allow-Origin") != "" && r.Header.Get("Access-Control-Request-Method") != "" {
		h.Set("Access-Control-Allow-Methods", methods)
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Range")
		h.Set("Access-Control-Max-Age", "600")
	}
	rw.WriteHeader(http.StatusNoContent)
}
