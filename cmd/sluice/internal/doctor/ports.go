package doctor

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// ports looks at each address on which the server is going to listen.
func ports(ctx context.Context, c config.Config) []Finding {
	var findings []Finding
	look := func(setting, address string, networks ...string) {
		if !config.On(address) {
			return
		}
		for _, network := range networks {
			findings = append(findings, port(ctx, setting, network, address))
		}
	}
	look("rtmp", c.RTMP, "tcp")
	look("rtmps", c.RTMPS, "tcp")
	look("http", c.HTTP, "tcp")
	look("https", c.HTTPS, "tcp")
	look("rtsp", c.RTSP, "tcp")
	look("rtsps", c.RTSPS, "tcp")
	look("rtsp-udp", c.RTSPUDP, "udp")
	look("rtsp-udp", next(c.RTSPUDP), "udp") // RTCP
	look("webrtc", c.WebRTC, "udp", "tcp")
	look("srt", c.SRT, "udp")
	look("pprof", c.PProf, "tcp")
	if c.Cluster && c.NATS == "" {
		look("cluster-address", c.ClusterAddress, "tcp")
	}
	return findings
}

// next returns the address with the port after that of address, or "" when there is
// none.
func next(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	n, err := strconv.Atoi(port)
	if err != nil || n == 0 {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(n+1))
}

// port binds an address for a moment.
func port(ctx context.Context, setting, network, address string) Finding {
	what := setting + " " + address
	if network == "udp" {
		what += " (UDP)"
	}
	err := bind(ctx, network, address)
	switch {
	case err == nil:
		return Finding{OK, what, "free"}
	case errors.Is(err, syscall.EADDRINUSE):
		return Finding{Problem, what, "another program listens there (a relay that runs already?): choose another with --" + setting}
	case errors.Is(err, syscall.EACCES):
		return Finding{Problem, what, "not permitted: choose a port above 1023, or give the program CAP_NET_BIND_SERVICE"}
	}
	return Finding{Problem, what, err.Error()}
}

func bind(ctx context.Context, network, address string) error {
	if network == "udp" {
		c, err := (&net.ListenConfig{}).ListenPacket(ctx, network, address)
		if err != nil {
			return err
		}
		return c.Close()
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if err != nil {
		return err
	}
	return l.Close()
}
