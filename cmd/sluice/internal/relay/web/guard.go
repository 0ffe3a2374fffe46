package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// mayRead reports whether a request may read the API and the metrics, and answers
// it if not. Every request needs the API token, also from this machine; when none
// is configured, every request may read.
func (w *Server) mayRead(rw http.ResponseWriter, r *http.Request) bool {
	if ofNode(r) {
		return true
	}
	want := w.Config().APIToken
	if want == "" || hasToken(r, want) {
		return true
	}
	rw.Header().Set("WWW-Authenticate", `Bearer realm="sluice"`)
	answerError(rw, http.StatusUnauthorized, "needs the header Authorization: Bearer with the API token")
	return false
}

// mayChange reports whether a request may change something, and answers it if
// not. That needs the API token. The address proves nothing: behind a proxy on
// this machine every request comes from this machine.
func (w *Server) mayChange(rw http.ResponseWriter, r *http.Request) bool {
	if w.Config().APIToken == "" && !ofNode(r) {
		answerError(rw, http.StatusForbidden, "nothing can be changed without an API token: set "+config.EnvAPIToken+" in the server's environment")
		return false
	}
	return w.mayRead(rw, r)
}

// mayPost is mayChange for a resource that takes POST alone, and has nothing below it.
func (w *Server) mayPost(rw http.ResponseWriter, r *http.Request, rest string) bool {
	switch {
	case rest != "":
		w.noResource(rw, r)
	case r.Method != http.MethodPost:
		onlyHere(rw, "POST")
	default:
		return w.mayChange(rw, r)
	}
	return false
}

// onlyWith reports whether a request that changes something has no parameters but these, and
// answers it if it has: one that is misspelt would be without effect.
func onlyWith(rw http.ResponseWriter, r *http.Request, names ...string) bool {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		answerError(rw, http.StatusBadRequest, "the query cannot be read: "+err.Error())
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if slices.Contains(names, name) {
			continue
		}
		takes := "none is taken here"
		if len(names) > 0 {
			takes = "want " + strings.Join(names, ", ")
		}
		answerError(rw, http.StatusBadRequest, fmt.Sprintf("unknown parameter %.40q: %s", name, takes))
		return false
	}
	return true
}

// hasToken compares in a time that does not depend on the token.
func hasToken(r *http.Request, want string) bool {
	token, ok := bearer(r)
	got, wanted := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(got[:], wanted[:]) == 1 && ok
}

// bearer returns the token that a request bears, if it does. The case of the scheme does not count
// (RFC 9110, section 11.1).
func bearer(r *http.Request) (token string, ok bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "Bearer")
}

// ownPage reports whether a request does not come from a page of another origin,
// and answers it if it does. Following a link from another site is allowed.
func ownPage(rw http.ResponseWriter, r *http.Request) bool {
	following := r.Header.Get("Sec-Fetch-Mode") == "navigate" && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	if following || !foreignPage(r) {
		return true
	}
	answerError(rw, http.StatusForbidden, "pages of other origins may play, where cors allows it, and nothing else")
	return false
}

// foreignPage reports whether a page of another origin sent a request. Browsers
// say so in Sec-Fetch-Site (Fetch Metadata, section 2.2) over TLS and on this
// machine; older ones, and those elsewhere, in Origin.
func foreignPage(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
		return !sameOrigin(r)
	}
	return true
}

// mayPublish reports whether a request that publishes comes from no page, or from one
// of this server whose address cannot be had by DNS rebinding: a page that was loaded
// over plain HTTP by a name may come from anybody who owns the name and lets it point
// here, and has what this address may do. Browsers send Origin with each POST and
// PUT (the Fetch standard, section 3.2).
func mayPublish(r *http.Request) bool {
	if foreignPage(r) {
		return false
	}
	origin, err := url.Parse(r.Header.Get("Origin"))
	if err != nil {
		return false
	}
	if origin.Scheme != "http" {
		return true // none, or TLS has shown whose name it is
	}
	host := strings.ToLower(origin.Hostname())
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host) != nil
}

// noResource says what there is, to those who may read it.
func (w *Server) noResource(rw http.ResponseWriter, r *http.Request) {
	if w.mayRead(rw, r) {
		// The last two are no elements of paths: viewers may read them too, also from pages of other origins.
		names := append(slices.Collect(maps.Keys(w.paths)), "clips", "recordings")
		slices.Sort(names)
		answerError(rw, http.StatusNotFound, "there is no such resource; see /api/ and one of "+strings.Join(names, ", "))
	}
}

func ofNode(r *http.Request) bool { return r.Context().Value(trusted{}) != nil }

// trusted is the key of a context in which another node has asked: it has checked what
// its client may do.
type trusted struct{}
