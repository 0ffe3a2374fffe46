package sluice_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// The recipes of docs/library/recipes.md for package aio, as in docs_example_test.go.

// lengths is the handler of a server that answers each frame, which has a
// 4-byte length, with that length. A client that is silent for a minute is
// disconnected.
type lengths struct{}

func (lengths) Accepted(w *aio.Watcher, conn net.Conn) {
	readOn(w, conn, sluice.NewBufReaderFed()) // a parser for each connection
}

// readOn submits the next read, with the parser as its context.
func readOn(w *aio.Watcher, conn net.Conn, r *sluice.BufReader) {
	if w.ReadBuf(r, conn, 0, time.Now().Add(time.Minute)) != nil {
		w.Free(conn)
	}
}

func (lengths) Completed(w *aio.Watcher, res *aio.OpResult) {
	if res.Operation == aio.OpWrite {
		return // when it failed, so does the read that is pending
	}
	r := res.Context.(*sluice.BufReader)
	err := res.Error // io.EOF, aio.ErrDeadline
	if err == nil {
		err = r.FeedBuf(res.Buf) // transferred, not copied
	}
	if err == nil {
		err = answer(w, res.Conn, r)
	}
	switch {
	case err == nil:
		readOn(w, res.Conn, r)
	case errors.Is(err, aio.ErrWatcherClosed):
		r.Recycle() // the server ends; the watcher closes what is written out
	default:
		r.Recycle()
		w.Free(res.Conn)
	}
}

// answer answers the frames that are there as a whole.
func answer(w *aio.Watcher, conn net.Conn, r *sluice.BufReader) error {
	for {
		r.Mark()
		n, err := r.ReadBE(4)
		if err == nil {
			_, err = r.Next(n) // ErrTooLong above Options.Frame
		}
		if errors.Is(err, sluice.ErrShort) {
			r.Rollback()
			return nil // the rest has not come yet
		}
		if err != nil {
			return err
		}
		r.Unmark()
		reply := binary.BigEndian.AppendUint32(nil, uint32(n))
		if err := w.Write(nil, conn, reply); err != nil {
			return err // ErrQueueFull: it does not read its answers
		}
	}
}

// serveLengths serves until ctx is done, then writes what is queued. It says
// where it listens.
func serveLengths(ctx context.Context, addr string, listening func(net.Addr)) error {
	listeners, err := aio.Listen(ctx, "tcp", addr, 1) // on Linux and FreeBSD also more
	if err != nil {
		return err
	}
	listening(listeners[0].Addr())
	o := aio.Options{QueueLimit: 1 << 20, QueuePolicy: aio.QueueClose}
	return aio.Serve(ctx, listeners, o, lengths{})
}

func ExampleNewBufReaderFed_aio() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	addr, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		ended <- serveLengths(ctx, "127.0.0.1:0", func(a net.Addr) { addr <- a })
	}()
	conn, err := net.Dial("tcp", (<-addr).String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	replies := make([]byte, 8)
	// Cut in the middle of a length and of a frame.
	for _, p := range []string{"\x00\x00", "\x00\x05hel", "lo\x00\x00\x00\x02go"} {
		io.WriteString(conn, p)
	}
	_, err = io.ReadFull(conn, replies)
	fmt.Println(replies, err)
	stop()
	fmt.Println(<-ended)
	// Output:
	// [0 0 0 5 0 0 0 2] <nil>
	// <nil>
}

// sendToAll sends b, transferred, to all connections of w, without a copy. It
// returns how many took it. A slow one misses it, and one that is gone
// completes with the reason.
func sendToAll(w *aio.Watcher, conns []net.Conn, b mem.Buf) (taken int, err error) {
	sent, err := w.WriteMany(nil, conns, b, aio.SlowSkip)
	return sent.Written + sent.Queued, err
}

func Example_sendToAll() {
	w, err := aio.NewWatcher()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	var near, far []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		far = append(far, c)
		if c, err = l.Accept(); err != nil {
			fmt.Println(err)
			return
		}
		near = append(near, c)
	}
	b := mem.Default().Get(5)
	copy(b.Bytes(), "hello")
	fmt.Println(sendToAll(w, near, b))
	p := make([]byte, 5)
	for _, c := range far {
		_, err := io.ReadFull(c, p)
		fmt.Printf("%s %v\n", p, err)
		c.Close()
	}
	// Output:
	// 3 <nil>
	// hello <nil>
	// hello <nil>
	// hello <nil>
}

// counter is the state of a connection: what is incomplete, and how many frames
// there were.
type counter struct {
	frames aio.Frames
	n      uint32
}

// counting answers each frame, which has a 4-byte length, with its number on the
// connection.
func counting(config *tls.Config) *aio.ConnHandler[counter] {
	return &aio.ConnHandler[counter]{
		TLS:         config, // nil: without
		IdleTimeout: time.Minute,
		Open: func(c *aio.Conn[counter]) error {
			c.State.frames = aio.Frames{Size: aio.LengthPrefix(4), Limit: 64 << 10}
			return nil
		},
		Data: func(c *aio.Conn[counter], p []byte) error { // p is borrowed
			return c.State.frames.Add(p, func([]byte) error {
				c.State.n++
				_, err := c.Write(binary.BigEndian.AppendUint32(nil, c.State.n))
				return err
			})
		},
		Closed: func(c *aio.Conn[counter], reason error) {
			c.State.frames.Release()
			if reason != io.EOF {
				log.Printf("%v: %v", c.RemoteAddr(), reason)
			}
		},
	}
}

// serveCounting serves on n event loops, until ctx is done.
func serveCounting(ctx context.Context, l net.Listener, config *tls.Config, n int) error {
	s := &aio.Server{Handler: counting(config), Watchers: n, Options: aio.Options{QueueLimit: 1 << 20}}
	return s.Serve(ctx, []net.Listener{l})
}

func Example_serveCounting() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serveCounting(ctx, l, nil, 2) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	answers := make([]byte, 8)
	for _, p := range []string{"\x00\x00", "\x00\x05hel", "lo\x00\x00\x00\x02go"} {
		io.WriteString(conn, p)
	}
	_, err = io.ReadFull(conn, answers)
	fmt.Println(answers, err)
	conn.Close()
	stop()
	fmt.Println(<-ended)
	// Output:
	// [0 0 0 1 0 0 0 2] <nil>
	// <nil>
}
