package relay

import (
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"
)

// servePProf serves Go's profiles on a separate listener, which the settings only
// allow on the loopback interface.
func servePProf(l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	// No write timeout: the client chooses how long a profile takes.
	server := &http.Server{Handler: forThisMachine(mux), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second}
	err := server.Serve(l)
	server.Close()
	return err
}

// forThisMachine refuses what a browser on this machine sends for the page of
// another site: which has let a name of its own point here, and could read the answers, or
// starts profiles that it cannot read.
func forThisMachine(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Sec-Fetch-Site") {
		case "", "none", "same-origin":
		default:
			http.Error(w, "not for pages of other sites", http.StatusForbidden)
			return
		}
		if !namesThisMachine(r.Host) {
			http.Error(w, "profiles are at localhost, 127.0.0.1 or [::1] only", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// namesThisMachine reports whether a host, perhaps with a port, is loopback whatever DNS
// says (RFC 6761, section 6.3).
func namesThisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
