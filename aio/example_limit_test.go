package aio_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// limited is a ConnHandler for at most so many connections, handshakes included.
type limited struct {
	*aio.ConnHandler[struct{}]
	most int64
	now  atomic.Int64
}

// Accepted closes a connection too many before anything is done for it.
func (l *limited) Accepted(w *aio.Watcher, conn net.Conn) {
	if l.now.Add(1) > l.most {
		l.now.Add(-1)
		_ = w.Free(conn)
		return
	}
	l.ConnHandler.Accepted(w, conn)
}

// A server takes as many connections as there are descriptors. Here it has fewer.
func ExampleServer_limit() {
	h := &limited{most: 2}
	h.ConnHandler = &aio.ConnHandler[struct{}]{
		Data: func(c *aio.Conn[struct{}], p []byte) error {
			_, err := c.Write(p)
			return err
		},
		Closed:      func(*aio.Conn[struct{}], error) { h.now.Add(-1) },
		Refused:     func(net.Addr, error) { h.now.Add(-1) }, // over TLS
		IdleTimeout: time.Minute,
	}
	listeners, err := aio.Listen(context.Background(), "tcp", "127.0.0.1:0", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error)
	go func() { ended <- aio.Serve(ctx, listeners, aio.Options{}, h) }()
	var clients []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", listeners[0].Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		clients = append(clients, c)
		p := []byte{'x'}
		_, err = c.Write(p)
		if err == nil {
			_, err = io.ReadFull(c, p)
		}
		fmt.Println(err == nil)
	}
	for _, c := range clients {
		c.Close()
	}
	stop()
	fmt.Println(<-ended)
	// Output:
	// true
	// true
	// false
	// <nil>
}
