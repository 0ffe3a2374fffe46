package aio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// connected returns the two ends of a TCP connection.
func connected() (near, far net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	far, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	near, err = l.Accept()
	if err != nil {
		panic(err)
	}
	return near, far
}

// echo sends back what the connections of w receive, until w is closed.
func echo(w *aio.Watcher) {
	for {
		results, err := w.WaitIO()
		if err != nil {
			return
		}
		for i := range results {
			r := &results[i]
			switch {
			case r.Error != nil: // io.EOF among others
				w.Free(r.Conn)
			case r.Operation == aio.OpRead:
				w.Write(nil, r.Conn, r.Buffer[:r.Size])
			default: // written: the buffer is free for the next read
				w.Read(nil, r.Conn, r.Buffer[:cap(r.Buffer)])
			}
		}
	}
}

// An echo server: one goroutine accepts, one serves all connections.
func Example() {
	w, err := aio.NewWatcher()
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			// From here on conn belongs to w, which closes it.
			if err := w.Read(nil, conn, make([]byte, 4096)); err != nil {
				w.Free(conn)
			}
		}
	}()
	ended := make(chan struct{})
	go func() {
		echo(w)
		close(ended)
	}()

	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	reply := make([]byte, 5)
	for _, message := range []string{"hello", "world"} {
		if _, err := io.WriteString(conn, message); err != nil {
			fmt.Println(err)
			return
		}
		_, err := io.ReadFull(conn, reply)
		fmt.Printf("%s %v\n", reply, err)
	}

	l.Close()
	w.Close()
	<-ended
	// Output:
	// hello <nil>
	// world <nil>
}

// frames calls handle for each frame that is there as a whole, with bytes that
// are borrowed until it returns. The error is nil when the rest of a frame has
// still to come.
func frames(r *sluice.BufReader, handle func(frame []byte)) error {
	for {
		r.Mark()
		n, err := r.ReadBE(2)
		var frame []byte
		if err == nil {
			frame, err = r.Next(n)
		}
		if err != nil {
			r.Rollback()
			if errors.Is(err, sluice.ErrShort) {
				return nil
			}
			return err
		}
		handle(frame)
		r.Unmark()
	}
}

// A parser that is written for sluice.BufReader runs in a WaitIO loop: each
// connection has a reader, which is fed with what was read where it lies.
func ExampleWatcher_ReadBuf() {
	w, err := aio.NewWatcher()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	near, far := connected()
	go func() {
		io.WriteString(far, "\x00\x05first\x00\x06second\x00\x00\x00\x04last")
		far.Close()
	}()

	// At most five bytes at a time, so that frames come in pieces. With 0 it is
	// as many as there are.
	const some = 5
	reader := sluice.NewBufReaderFed()
	defer reader.Recycle()
	w.ReadBuf(reader, near, some, time.Time{})
	for open := true; open; {
		results, err := w.WaitIO()
		if err != nil {
			fmt.Println(err)
			return
		}
		for i := range results {
			res := &results[i]
			r := res.Context.(*sluice.BufReader)
			if res.Error == nil {
				err = r.FeedBuf(res.Buf) // transferred
			} else {
				r.FeedEnd(res.Error) // io.EOF, when all went well
			}
			if err == nil {
				err = frames(r, func(frame []byte) { fmt.Printf("%q\n", frame) })
			}
			if err != nil { // io.EOF between two frames, io.ErrUnexpectedEOF in one
				fmt.Println(err)
				w.Free(res.Conn)
				open = false
				continue
			}
			w.ReadBuf(r, res.Conn, some, time.Time{})
		}
	}
	// Output:
	// "first"
	// "second"
	// ""
	// "last"
	// EOF
}

// What one connection sends goes to three others, from the memory that it was
// read into.
func ExampleWatcher_WriteBuf() {
	w, err := aio.NewWatcher()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	source, publisher := connected()
	var subscribers, viewers []net.Conn
	for range 3 {
		near, far := connected()
		subscribers, viewers = append(subscribers, near), append(viewers, far)
	}
	io.WriteString(publisher, "one for all")
	publisher.Close()

	w.ReadBuf(nil, source, 0, time.Time{})
	refs := make([]mem.Buf, len(subscribers))
	for written := 0; written < len(subscribers); {
		results, err := w.WaitIO()
		if err != nil {
			fmt.Println(err)
			return
		}
		for i := range results {
			r := &results[i]
			switch {
			case r.Error != nil:
				fmt.Println(r.Error)
				return
			case r.Operation == aio.OpWrite:
				written++
				w.Free(r.Conn)
			default:
				r.Buf.Share(refs) // a reference for each
				r.Buf.Release()   // and our own is not needed any more
				for i, s := range subscribers {
					// Transferred: released when it is written, or cannot be.
					w.WriteBuf(nil, s, refs[i], time.Time{})
				}
			}
		}
	}
	for _, v := range viewers {
		p, err := io.ReadAll(v)
		fmt.Printf("%s %v\n", p, err)
		v.Close()
	}
	// Output:
	// one for all <nil>
	// one for all <nil>
	// one for all <nil>
}

// shouter is a Handler that sends back what it receives in capitals.
type shouter struct{}

func (shouter) Accepted(w *aio.Watcher, conn net.Conn) {
	if err := w.Read(nil, conn, make([]byte, 512)); err != nil {
		w.Free(conn)
	}
}

func (shouter) Completed(w *aio.Watcher, r *aio.OpResult) {
	var err error
	switch {
	case errors.Is(r.Error, aio.ErrWatcherClosed):
		return // the server ends, and closes the connection itself
	case r.Error != nil:
		err = r.Error
	case r.Operation == aio.OpRead:
		p := r.Buffer[:r.Size]
		copy(p, bytes.ToUpper(p)) // of the same length, being ASCII
		err = w.Write(nil, r.Conn, p)
	default:
		err = w.Read(nil, r.Conn, r.Buffer[:cap(r.Buffer)])
	}
	if err != nil {
		w.Free(r.Conn)
	}
}

// A server with a watcher for each listener, until its context is done.
func ExampleServe() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	listeners, err := aio.Listen(ctx, "tcp", "127.0.0.1:0", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- aio.Serve(ctx, listeners, aio.Options{}, shouter{}) }()

	conn, err := net.Dial("tcp", listeners[0].Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	reply := make([]byte, 7)
	io.WriteString(conn, "louder!")
	_, err = io.ReadFull(conn, reply)
	fmt.Printf("%s %v\n", reply, err)

	stop()
	fmt.Println(<-ended)
	// Output:
	// LOUDER! <nil>
	// <nil>
}
