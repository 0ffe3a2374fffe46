package cli

import (
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"
)

// loopbackOnly says what is wrong with an address for profiles.
func loopbackOnly(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return fmt.Errorf("%q is not on the loopback interface: profiles are for this machine only, such as 127.0.0.1:0", addr)
	}
	return nil
}

// profiles is a server of Go's profiles that listens.
type profiles struct {
	listener net.Listener
	server   http.Server
}

func listenProfiles(addr string) (*profiles, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	// A profile takes as long as it is asked to.
	return &profiles{l, http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second}}, nil
}

// url is what the profiles' names are appended to. Without a server it is empty.
func (p *profiles) url() string {
	if p == nil {
		return ""
	}
	return "http://" + p.listener.Addr().String() + "/debug/pprof"
}

// serve returns when the server is closed.
func (p *profiles) serve() { p.server.Serve(p.listener) }

func (p *profiles) close() {
	p.server.Close()
	p.listener.Close()
}
