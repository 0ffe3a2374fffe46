//go:build amd64 || arm64

package echobench

import (
	"context"
	"net"

	"github.com/cloudwego/netpoll"
)

// serveNetpoll does as netpoll's guide says: views of what came, bytes of long
// messages not copied, and no pool of goroutines where their stacks do not grow.
func serveNetpoll(l *net.TCPListener, _ int, counter *ConnCounter) error {
	err := netpoll.Configure(netpoll.Config{Runner: func(_ context.Context, f func()) { go f() }})
	if err != nil {
		return err
	}
	gone := func(netpoll.Connection) error {
		counter.Add(-1)
		return nil
	}
	loop, err := netpoll.NewEventLoop(echoNetpoll, netpoll.WithOnPrepare(func(conn netpoll.Connection) context.Context {
		counter.Add(1)
		if err := conn.AddCloseCallback(gone); err != nil {
			panic("echo: netpoll takes no callback: " + err.Error())
		}
		return context.Background()
	}))
	if err != nil {
		return err
	}
	return loop.Serve(l)
}

func echoNetpoll(_ context.Context, conn netpoll.Connection) error {
	r, w := conn.Reader(), conn.Writer()
	p, err := r.Next(r.Len())
	if err != nil {
		return err
	}
	// Long ones are referred to until Flush has sent them.
	if _, err := w.WriteBinary(p); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return r.Release()
}
