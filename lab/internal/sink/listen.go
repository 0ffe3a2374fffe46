package sink

import (
	"context"
	"net"
	"strings"
)

// Listen listens on an address, host:port or unix:PATH. ctx bounds the look-up of a
// name and nothing later.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
	}
	var config net.ListenConfig
	return config.Listen(ctx, network, addr)
}
