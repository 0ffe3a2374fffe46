package echobench

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"github.com/sluice-go/sluice/aio"
)

// serveAIO gives each connection a buffer for life or, unless own, none at all: what a read
// returns then is the watcher's, which keeps it for as long as a write of it takes.
func serveAIO(own bool) serve {
	return func(l *net.TCPListener, size int, counter *ConnCounter) error {
		w, err := aio.NewWatcher()
		if err != nil {
			return err
		}
		drop := func(conn net.Conn) {
			w.Free(conn)
			counter.Add(-1)
		}
		ended := make(chan error, 1)
		go func() {
			defer w.Close()
			for {
				conn, err := l.AcceptTCP()
				if err != nil {
					ended <- err
					return
				}
				counter.Add(1)
				var buf []byte
				if own {
					// Longer than a message, so that a read of a whole one is a short one, after
					// which the watcher need not look whether there is more.
					buf = make([]byte, max(1<<10, 2*size))
				}
				if w.Read(nil, conn, buf) != nil {
					drop(conn)
				}
			}
		}()
		for {
			results, err := w.WaitIO()
			for i := range results {
				r := &results[i]
				failed := r.Error
				switch {
				case failed != nil:
				case r.Operation == aio.OpRead:
					failed = w.Write(nil, r.Conn, r.Buffer[:r.Size])
				case own:
					failed = w.Read(nil, r.Conn, r.Buffer[:cap(r.Buffer)])
				default:
					failed = w.Read(nil, r.Conn, nil)
				}
				// One operation at a time is under way on a connection, so that it is
				// dropped once.
				if failed != nil {
					drop(r.Conn)
				}
			}
			if errors.Is(err, aio.ErrWatcherClosed) {
				return <-ended
			}
			if err != nil {
				return err
			}
		}
	}
}

func serveConns(secure bool) serve {
	return func(l *net.TCPListener, _ int, counter *ConnCounter) (err error) {
		var config *tls.Config
		if secure {
			if config, err = selfSigned(); err != nil {
				return err
			}
		}
		server := aio.Server{Handler: &aio.ConnHandler[struct{}]{
			TLS:    config,
			Open:   func(*aio.Conn[struct{}]) error { counter.Add(1); return nil },
			Data:   func(c *aio.Conn[struct{}], p []byte) error { _, err := c.Write(p); return err },
			Closed: func(*aio.Conn[struct{}], error) { counter.Add(-1) },
		}}
		return server.Serve(context.Background(), []net.Listener{l})
	}
}
