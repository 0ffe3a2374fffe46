package aio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// request is what has come of a line, which has until the time to come whole.
type request struct {
	line  []byte
	until time.Time
}

// A peer may be silent for a minute, but has less for a line that it has begun, whether it stops
// within it or sends a byte now and then.
func ExampleConn_SetIdleTimeout() {
	const idle, whole = time.Minute, 50 * time.Millisecond
	closed := make(chan error, 1)
	h := &aio.ConnHandler[request]{
		IdleTimeout: idle,
		Data: func(c *aio.Conn[request], p []byte) error {
			r := &c.State
			if len(r.line) == 0 {
				r.until = time.Now().Add(whole)
			}
			r.line = append(r.line, p...)
			for {
				line, rest, found := bytes.Cut(r.line, []byte("\n"))
				if !found {
					break
				}
				fmt.Printf("%s\n", line)
				r.line, r.until = rest, time.Now().Add(whole)
			}
			if len(r.line) == 0 {
				c.SetIdleTimeout(idle)
				return nil
			}
			left := time.Until(r.until)
			if left <= 0 || len(r.line) > 1000 {
				return errors.New("a line that is too slow or too long")
			}
			c.SetIdleTimeout(left)
			return nil
		},
		Closed: func(_ *aio.Conn[request], reason error) { closed <- reason },
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
	conn, err := net.Dial("tcp", listeners[0].Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "hello\nwor")
	fmt.Println(errors.Is(<-closed, aio.ErrDeadline))
	stop()
	fmt.Println(<-ended)
	// Output:
	// hello
	// true
	// <nil>
}
