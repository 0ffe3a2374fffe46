package echo

import (
	"bufio"
	"fmt"
)

// newStdEngine is what people write with the standard library.
func newStdEngine(s Settings) *goroutines {
	how := fmt.Sprintf("std, a goroutine and a buffer of %d bytes for each connection", s.Buffer)
	if s.WriteBuffer > 0 {
		return newGoroutines(s, how, stdGathered)
	}
	return newGoroutines(s, how, std)
}

// std writes what each read brought.
func std(c *conn, s Settings) {
	buf := make([]byte, s.Buffer)
	for {
		n, err := c.Read(buf)
		if n > 0 {
			written, err := c.Write(buf[:n])
			c.requests.Add(1)
			c.bytes.Add(uint64(written))
			if err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// stdGathered has a bufio.Writer behind the reading, which is flushed when
// nothing more has come.
func stdGathered(c *conn, s Settings) {
	buf := make([]byte, s.Buffer)
	w := bufio.NewWriterSize(counted{c}, s.WriteBuffer)
	more := newMore(c.Conn)
	requests := uint64(0)
	for {
		n, err := c.Read(buf)
		if n > 0 {
			requests++
			before := c.bytes.Load()
			if _, err := w.Write(buf[:n]); err != nil {
				return
			}
			requests = c.out(requests, w.Buffered(), c.bytes.Load() > before)
		}
		if err != nil || !more.waits() {
			if w.Flush() != nil {
				return
			}
			requests = c.out(requests, 0, true)
		}
		if err != nil {
			return
		}
	}
}

// counted counts the bytes that go out.
type counted struct{ c *conn }

func (w counted) Write(p []byte) (int, error) {
	n, err := w.c.Write(p)
	w.c.bytes.Add(uint64(n))
	return n, err
}
