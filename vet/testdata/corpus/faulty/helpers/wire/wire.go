// Package wire has helpers that lend, end, take and keep: correct by themselves.
package wire

import (
	"bufio"
	"bytes"
	"io"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// Line lends the next line.
func Line(br *bufio.Reader) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// A Conn reads messages.
type Conn struct {
	r     *sluice.BufReader
	names [][]byte
}

// Head lends the next four bytes.
func (c *Conn) Head() ([]byte, error) { return c.r.Next(4) }

// SkipBody ends what was lent.
func (c *Conn) SkipBody(n int) error { return c.r.Skip(n) }

// Body reads the next n bytes, retained.
func (c *Conn) Body(n int) (mem.Buf, error) { return c.r.ReadBuf(n) }

// Remember keeps name.
func (c *Conn) Remember(name []byte) { c.names = append(c.names, name) }

// Drop releases b.
func Drop(b mem.Buf) {
	if b.Valid() {
		b.Release()
	}
}

// Send takes b.
func Send(w *sluice.BufWriter, b mem.Buf) error { return w.WriteBuf(b) }

// Trim returns a part of p.
func Trim(p []byte) []byte { return p[1 : len(p)-1] }

var pool = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// GetBuffer takes a buffer from the pool.
func GetBuffer() *bytes.Buffer { return pool.Get().(*bytes.Buffer) }

// PutBuffer gives it back.
func PutBuffer(b *bytes.Buffer) {
	b.Reset()
	pool.Put(b)
}

// Fill reads more into br's buffer.
func Fill(br *bufio.Reader) error {
	_, err := br.Peek(br.Size())
	if err == io.EOF {
		return nil
	}
	return err
}
