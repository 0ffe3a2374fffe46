package mem

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// WriteTo writes all bytes to w, which borrows them until its call returns.
// Over a *net.TCPConn or *net.UnixConn that is one writev for up to 1024
// parts, over any other writer one Write for each part. It returns the number
// of bytes written, and the writer's error, or io.ErrShortWrite when the
// writer took less without one. m still holds its bytes afterwards.
func (m *Memory) WriteTo(w io.Writer) (int64, error) {
	m.intact("WriteTo")
	if w == nil {
		panic("mem: Memory.WriteTo(nil)")
	}
	m.writing.Add(1)
	defer m.writing.Add(-1)
	if len(m.Buffers) > 1 {
		// Exactly these types: a struct that embeds one has its unexported
		// gather method too, and net.Buffers would pass by its Write.
		switch w.(type) {
		case *net.TCPConn, *net.UnixConn:
			return gatherTo(w, m.Buffers)
		}
	}
	var sum int64
	for _, p := range m.Buffers {
		n, err := w.Write(p)
		if n < 0 || n > len(p) {
			panic(fmt.Sprintf("mem: Memory.WriteTo: writer returned %d of %d bytes", n, len(p)))
		}
		sum += int64(n)
		if err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// gather is scratch for slice headers, since net.Buffers.WriteTo moves the
// slice that it is given along and writes nil into what it passed.
type gather struct {
	room net.Buffers // all of it
	left net.Buffers // what is not written yet
}

// gatherKeep is how many headers (24 KiB of them) scratch may have room for
// and be kept: as many as one writev takes.
const gatherKeep = 1024

var gathers = sync.Pool{New: func() any { return new(gather) }}

func gatherTo(w io.Writer, parts [][]byte) (int64, error) {
	g := gathers.Get().(*gather)
	g.room = append(g.room[:0], parts...)
	g.left = g.room
	n, err := g.left.WriteTo(w)
	clear(g.room)
	g.left = nil
	if cap(g.room) <= gatherKeep {
		gathers.Put(g)
	}
	return n, err
}
