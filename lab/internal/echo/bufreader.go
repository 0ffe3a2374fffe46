package echo

import (
	"fmt"

	"github.com/sluice-go/sluice"
)

// leastBufLen is the shortest BufLen that a sluice.BufReader has.
const leastBufLen = 16

// newBufReaderEngine reads with a sluice.BufReader and sends with a
// sluice.BufWriter.
func newBufReaderEngine(s Settings) *goroutines {
	size := fmt.Sprintf("reads of %d bytes", s.Buffer)
	if s.Buffer == 0 {
		size = "reads that follow the stream"
	}
	return newGoroutines(s, "bufreader, a goroutine for each connection, "+size+", sent from where they lie", bufReader)
}

// bufReader sends the memory that was read into: a Buf is retained from the
// reader and transferred to the writer, which releases it when it is out.
func bufReader(c *conn, s Settings) {
	// Of the connection itself: the library knows a *net.TCPConn, and holds no
	// memory while that waits.
	r := &sluice.BufReader{BufLen: s.Buffer}
	r.Reset(c.Conn)
	defer r.Recycle()
	w := sluice.NewBufWriter(c.Conn, sluice.Options{BufLen: s.WriteBuffer})
	defer w.Recycle()
	var more more
	if s.WriteBuffer > 0 {
		more = newMore(c.Conn)
	}
	var requests uint64
	given, sent := 0, 0 // bytes that the writer was given, and that went out
	// count adds what went out by a call that ended so, and reports whether it
	// succeeded.
	count := func(err error) bool {
		if err != nil {
			return false
		}
		total := given - w.Buffered()
		c.bytes.Add(uint64(total - sent))
		requests = c.out(requests, w.Buffered(), total > sent)
		sent = total
		return true
	}
	for {
		_, err := r.Peek(1)
		if err == nil {
			buf, err := r.ReadBuf(len(r.View()))
			if err != nil {
				return
			}
			requests++
			given += buf.Len()
			if !count(w.WriteBuf(buf)) {
				return
			}
		}
		if err != nil || r.Buffered() == 0 && !more.waits() {
			if !count(w.Flush()) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
