package echobench

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/sluice-go/sluice/aio"
)

// serveConns is what a ConnHandler needs for an echo.
func serveConns(l *net.TCPListener, _ int, counter *ConnCounter) error {
	return serveHandler(l, counter, nil)
}

func serveConnsTLS(l *net.TCPListener, _ int, counter *ConnCounter) error {
	config, err := selfSigned()
	if err != nil {
		return err
	}
	return serveHandler(l, counter, config)
}

func serveHandler(l *net.TCPListener, counter *ConnCounter, config *tls.Config) error {
	server := aio.Server{Handler: &aio.ConnHandler[struct{}]{
		TLS:    config,
		Open:   func(*aio.Conn[struct{}]) error { counter.Opened(); return nil },
		Data:   func(c *aio.Conn[struct{}], p []byte) error { _, err := c.Write(p); return err },
		Closed: func(*aio.Conn[struct{}], error) { counter.Closed() },
	}}
	return server.Serve(context.Background(), []net.Listener{l})
}
