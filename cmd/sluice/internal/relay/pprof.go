package relay

import (
	"net/http"
	"net/http/pprof"
	"time"
)

// servePProf serves Go's profiles on a listener of their own, which settings
// allow on the loopback interface only.
func servePProf(l *listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	// A profile takes as long as it is asked to.
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second}
	err := server.Serve(l)
	server.Close()
	return err
}
