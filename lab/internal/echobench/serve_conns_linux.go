package echobench

import (
	"context"
	"crypto/tls"
	"net"
	"time"

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
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	closed := make(chan error, 1)
	go func() {
		defer stop()
		closed <- waitClosed(ctx, l)
	}()
	err := (&aio.Server{Grace: -1, Handler: &aio.ConnHandler[struct{}]{
		TLS:    config,
		Open:   func(*aio.Conn[struct{}]) error { counter.Opened(); return nil },
		Data:   func(c *aio.Conn[struct{}], p []byte) error { _, err := c.Write(p); return err },
		Closed: func(*aio.Conn[struct{}], error) { counter.Closed() },
	}}).Serve(ctx, []net.Listener{l})
	if err != nil {
		return err
	}
	return <-closed
}

// waitClosed returns when l is closed, with the reason: a watcher accepts on a descriptor
// of its own, and does not notice.
func waitClosed(ctx context.Context, l *net.TCPListener) error {
	raw, err := l.SyscallConn()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for err == nil {
		select {
		case <-look.C:
			err = raw.Control(func(uintptr) {})
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}
