package sluice_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// The recipes of docs/library/recipes.md, each with an example that runs it. What the page
// shows is here word for word, as a test in internal/policy checks; others it only names.

// hijackFrames switches an HTTP/1.1 connection to frames with a 4-byte length
// and answers each with its length.
func hijackFrames(w http.ResponseWriter, _ *http.Request) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusHTTPVersionNotSupported) // HTTP/2 has no connection to give
		return
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Time{}); err != nil { // those of the server are still set
		return
	}

	r := sluice.NewBufReaderFrom(rw, conn)
	defer r.Recycle()
	out := sluice.NewBufWriter(conn)
	defer out.Recycle()

	out.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: frames\r\n\r\n")
	if out.Flush() != nil {
		return
	}
	for {
		n, err := r.ReadBE(4)
		if err != nil {
			return
		}
		frame, err := r.Next(n) // borrowed until the next call on r
		if err != nil {
			return
		}
		out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(frame))))
		if out.Flush() != nil { // says what went wrong in Write too
			return
		}
	}
}

func ExampleNewBufReaderFrom() {
	web := httptest.NewServer(http.HandlerFunc(hijackFrames))
	defer web.Close()
	conn, err := net.Dial("tcp", web.Listener.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	w := sluice.NewBufWriter(conn)
	defer w.Recycle()
	// The frames come with the request, so that the server has read ahead.
	w.WriteString("GET / HTTP/1.1\r\nHost: example\r\nConnection: Upgrade\r\nUpgrade: frames\r\n\r\n")
	w.WriteString("\x00\x00\x00\x05hello\x00\x00\x00\x02go")
	if err := w.Flush(); err != nil {
		fmt.Println(err)
		return
	}

	r := sluice.NewBufReader(conn)
	defer r.Recycle()
	status, err := r.ReadLine()
	if err == nil {
		_, err = r.ReadMIMEHeader()
	}
	first, err1 := r.ReadBE(4)
	second, err2 := r.ReadBE(4)
	fmt.Println(status, first, second, errors.Join(err, err1, err2))
	// Output: HTTP/1.1 101 Switching Protocols 5 2 <nil>
}

var readers = sync.Pool{New: func() any { return new(sluice.BufReader) }}

// withReader lends a pooled reader of conn to serve.
func withReader(conn net.Conn, serve func(*sluice.BufReader) error) error {
	r := readers.Get().(*sluice.BufReader)
	r.Reset(conn)
	defer func() {
		r.Recycle() // gives the memory back and forgets the connection
		readers.Put(r)
	}()
	return serve(r)
}

func ExampleBufReader_Reset() {
	for range 2 {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			far.Write([]byte("a line\n"))
		}()
		err := withReader(near, func(r *sluice.BufReader) error {
			line, err := r.ReadLine()
			fmt.Println(line)
			return err
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// a line
	// a line
}

// sumRecords adds up the last field of records of 12 bytes.
func sumRecords(r *sluice.BufReader) (sum uint64, err error) {
	const record = 12
	for {
		rest, err := r.Peek(record) // waits for one record
		switch {
		case err == io.EOF && len(rest) == 0:
			return sum, nil
		case err == io.EOF:
			return sum, io.ErrUnexpectedEOF
		case err != nil:
			return sum, err
		}
		view := r.View() // and here are all that came with it
		n := len(view) - len(view)%record
		for p := view[:n]; len(p) > 0; p = p[record:] {
			sum += uint64(binary.BigEndian.Uint32(p[8:]))
		}
		_ = r.Skip(n)
	}
}

func ExampleBufReader_View() {
	var p []byte
	for i := range uint32(1000) {
		p = append(p, "recorded"...)
		p = binary.BigEndian.AppendUint32(p, i)
	}
	sum, err := sumRecords(sluice.NewBufReader(bytes.NewReader(p)))
	fmt.Println(sum, err)
	_, err = sumRecords(sluice.NewBufReader(bytes.NewReader(p[:100])))
	fmt.Println(err)
	// Output:
	// 499500 <nil>
	// unexpected EOF
}

// pumpFrames sends the frames of a connection to out, which owns them then.
func pumpFrames(conn net.Conn, out chan<- mem.Buf) error {
	defer close(out)
	r := sluice.NewBufReader(conn)
	defer r.Recycle()
	for {
		frame, err := r.ReadFrame(4, binary.BigEndian, 0)
		if err == io.EOF {
			return nil // between two frames
		}
		if err != nil {
			return err
		}
		out <- frame
	}
}

// digest is the other end.
func digest(in <-chan mem.Buf, sum func([]byte)) {
	for frame := range in {
		sum(frame.Bytes())
		frame.Release() // once, on whatever goroutine
	}
}

func ExampleBufReader_ReadBuf() {
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		far.Write([]byte("\x00\x00\x00\x03one\x00\x00\x00\x03two"))
	}()
	frames := make(chan mem.Buf, 8)
	ended := make(chan error)
	go func() { ended <- pumpFrames(near, frames) }()
	digest(frames, func(p []byte) { fmt.Printf("%s\n", p) })
	fmt.Println(<-ended)
	// Output:
	// one
	// two
	// <nil>
}

// proxyFrames passes frames of varint length on to a peer that wants lengths of
// 3 bytes, lowest first. The payload is not copied, unless it is short.
func proxyFrames(from, to net.Conn) error {
	const most = 1<<24 - 1 // what 3 bytes can say
	r := sluice.NewBufReader(from, sluice.Options{Frame: most})
	defer r.Recycle()
	w := sluice.NewBufWriter(to)
	defer w.Recycle()
	for {
		frame, err := r.ReadFrame(0, nil, 0)
		if err == io.EOF {
			return w.Flush() // between two frames
		}
		if err != nil {
			return err // ErrTooLong among others: nothing of the frame was consumed
		}
		err = w.WriteFrame(3, binary.LittleEndian, frame) // transferred, also when it fails
		if err == nil && r.Buffered() == 0 {
			err = w.Flush()
		}
		if err != nil {
			return err
		}
	}
}

func ExampleBufReader_ReadFrame() {
	near, in := net.Pipe()
	out, far := net.Pipe()
	go func() {
		defer in.Close()
		in.Write([]byte("\x03one\x00\x05three"))
	}()
	go func() {
		defer out.Close()
		if err := proxyFrames(near, out); err != nil {
			fmt.Println(err)
		}
	}()
	p, err := io.ReadAll(far)
	fmt.Printf("%q %v\n", p, err)
	// Output: "\x03\x00\x00one\x00\x00\x00\x05\x00\x00three" <nil>
}

// fanOut hands frame, transferred, to all subscribers that have room for it,
// and returns how many had. room has at least as many elements as there are
// subscribers and is used again by the next call.
func fanOut(frame mem.Buf, subscribers []chan mem.Buf, room []mem.Buf) (delivered int) {
	refs := room[:len(subscribers)]
	frame.Share(refs)
	frame.Release() // our own; each subscriber has one now
	for i, s := range subscribers {
		select {
		case s <- refs[i]:
			delivered++
		default:
			refs[i].Release()
		}
	}
	return delivered
}

func Example_fanOut() {
	subscribers := []chan mem.Buf{make(chan mem.Buf, 1), make(chan mem.Buf), make(chan mem.Buf, 1)}
	frame := mem.Default().Get(5)
	copy(frame.Bytes(), "frame")
	fmt.Println(fanOut(frame, subscribers, make([]mem.Buf, 10)))
	for _, s := range subscribers {
		close(s)
		for b := range s {
			fmt.Printf("%s\n", b.Bytes())
			b.Release()
		}
	}
	// Output:
	// 2
	// frame
	// frame
}

// readFor reads a frame for every subscriber. refs has as many elements as there
// are subscribers and is used again by the next call.
func readFor(r *sluice.BufReader, subscribers []chan mem.Buf, refs []mem.Buf) error {
	n, err := r.ReadBE(4)
	if err != nil {
		return err
	}
	if err := r.ReadBufs(n, refs); err != nil {
		return err
	}
	for i, s := range subscribers {
		s <- refs[i] // each releases its own
	}
	return nil
}

func ExampleBufReader_ReadBufs() {
	subscribers := []chan mem.Buf{make(chan mem.Buf, 1), make(chan mem.Buf, 1)}
	r := sluice.NewBufReaderBytes([]byte("\x00\x00\x00\x05frame"))
	defer r.Recycle()
	fmt.Println(readFor(r, subscribers, make([]mem.Buf, 2)))
	for _, s := range subscribers {
		b := <-s
		fmt.Printf("%s\n", b.Bytes())
		b.Release()
	}
	// Output:
	// <nil>
	// frame
	// frame
}

// pushed is a connection of an event loop.
type pushed struct{ r *sluice.BufReader }

func newPushed() pushed { return pushed{sluice.NewBufReaderFed()} }

// onData is called with bytes that are the loop's own again when it returns,
// and calls handle for each message that is complete by now.
func (c pushed) onData(p []byte, handle func(kind byte, body []byte)) error {
	if err := c.r.FeedCopy(p); err != nil {
		return err // ErrTooLong: more waits than Options.Frame allows
	}
	for {
		if _, err := c.r.Peek(1); err != nil {
			return notShort(err) // nothing is left: the block has gone home
		}
		c.r.Mark()
		kind, body, err := nextMessage(c.r)
		if err != nil {
			c.r.Rollback()
			return notShort(err)
		}
		handle(kind, body)
		c.r.Unmark()
	}
}

// nextMessage is the parser: it knows nothing of event loops.
func nextMessage(r *sluice.BufReader) (kind byte, body []byte, err error) {
	if kind, err = r.ReadByte(); err != nil {
		return 0, nil, err
	}
	n, err := r.ReadBE(2)
	if err != nil {
		return 0, nil, err
	}
	body, err = r.Next(n)
	return kind, body, err
}

func notShort(err error) error {
	if errors.Is(err, sluice.ErrShort) {
		return nil // the rest has not come yet
	}
	return err
}

func ExampleNewBufReaderFed() {
	c := newPushed()
	defer c.r.Recycle()
	for _, p := range []string{"a\x00", "\x03on", "eb\x00\x03two", "c\x00\x00"} {
		err := c.onData([]byte(p), func(kind byte, body []byte) { fmt.Printf("%c %q\n", kind, body) })
		if err != nil {
			fmt.Println(err)
		}
	}
	c.r.FeedEnd(nil)
	_, err := c.r.ReadByte()
	fmt.Println(err)
	// Output:
	// a "one"
	// b "two"
	// c ""
	// EOF
}

// listenWithin serves connections whose frames, wherever they are by now,
// take at most budget bytes together.
func listenWithin(budget int64, l net.Listener, out chan<- mem.Buf) error {
	memory := mem.New(mem.Options{Name: "ingest", Budget: budget})
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			if err := ingest(conn, memory, out); err != nil && err != io.EOF {
				log.Printf("%v: %v", conn.RemoteAddr(), err)
			}
		}()
	}
}

func ingest(conn net.Conn, memory *mem.Allocator, out chan<- mem.Buf) error {
	r := sluice.NewBufReader(conn, sluice.Options{Allocator: memory})
	defer r.Recycle()
	if err := r.SetTimeout(time.Minute); err != nil { // bounds the wait for memory too
		return err
	}
	for {
		frame, err := r.ReadFrame(4, binary.BigEndian, 0)
		if err != nil {
			return err // errors.Is(err, mem.ErrBudget): see below
		}
		out <- frame
	}
}

func Example_budget() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	frames := make(chan mem.Buf)
	ended := make(chan error)
	go func() { ended <- listenWithin(1<<20, l, frames) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		// Eight times as much as the budget: the sender waits for us.
		frame := append([]byte{0, 0, 0x20, 0}, make([]byte, 0x2000)...)
		for range 1024 {
			conn.Write(frame)
		}
		conn.Close()
	}()
	for range 1024 {
		frame := <-frames
		frame.Release()
	}
	l.Close()
	fmt.Println(errors.Is(<-ended, net.ErrClosed))
	// Output: true
}

// sendFrames writes frames with their length in front, and flushes when no
// more are waiting.
func sendFrames(conn net.Conn, frames <-chan mem.Buf) error {
	w := sluice.NewBufWriter(conn)
	defer w.Recycle() // releases what did not go out
	if err := w.SetTimeout(10 * time.Second); err != nil {
		return err
	}
	for frame := range frames {
		err := w.WriteFrame(4, binary.BigEndian, frame) // transferred, also when it fails
		if err == nil && len(frames) == 0 {
			err = w.Flush()
		}
		if err != nil {
			return err // *sluice.Error: Done of Limit bytes of that Flush went out
		}
	}
	return nil
}

func ExampleBufWriter() {
	frames := make(chan mem.Buf, 8)
	for _, s := range []string{"one", "two"} {
		b := mem.Default().Get(len(s))
		copy(b.Bytes(), s)
		frames <- b
	}
	close(frames)
	near, far := net.Pipe()
	go func() {
		defer near.Close()
		if err := sendFrames(near, frames); err != nil {
			fmt.Println(err)
		}
	}()
	p, err := io.ReadAll(far)
	fmt.Printf("%q %v\n", p, err)
	// Output: "\x00\x00\x00\x03one\x00\x00\x00\x03two" <nil>
}

// sendFile writes a header and a file.
func sendFile(conn net.Conn, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	w := sluice.NewBufWriter(conn)
	defer w.Recycle()
	w.Write(binary.BigEndian.AppendUint32(nil, uint32(info.Size())))
	if _, err := w.ReadFrom(f); err != nil {
		return err
	}
	return w.Flush()
}

func ExampleBufWriter_ReadFrom() {
	dir, err := os.MkdirTemp("", "sluice")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "greeting")
	if err := os.WriteFile(name, []byte("hello"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	near, far := net.Pipe()
	go func() {
		defer near.Close()
		if err := sendFile(near, name); err != nil {
			fmt.Println(err)
		}
	}()
	p, err := io.ReadAll(far)
	fmt.Printf("%q %v\n", p, err)
	// Output: "\x00\x00\x00\x05hello" <nil>
}

func TestForwarding(t *testing.T) {
	memory := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, memory)

	frame := memory.Get(1000)
	frame.Release() // without this line the test fails and names the line above
}

// watchMemory samples one Get in 128 and serves the figures and the profiles.
func watchMemory(addr string) error {
	mem.Default().SetLeak(mem.LeakSample)
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/memory", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(mem.Default().Stats())
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index) // net/http/pprof
	return http.ListenAndServe(addr, mux)
}

func Example_watched() {
	err := watchMemory("not an address")
	before := mem.Default().SetLeak(mem.LeakOff)
	fmt.Println(err != nil, before == mem.LeakSample)
	// Output: true true
}
