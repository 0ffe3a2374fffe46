package relay

import (
	"net"
	"net/http"
	"net/http/pprof"
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
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second}
	err := server.Serve(l)
	server.Close()
	return err
}
