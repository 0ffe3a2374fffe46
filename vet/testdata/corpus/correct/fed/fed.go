// Package fed gives to others what they may keep.
package fed

import (
	"bytes"
	"io"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/bytepool"
	"github.com/sluice-go/sluice/mem"
)

func add(to *sluice.BufReader, p []byte) error { return to.Feed(p) }

func another(to *sluice.BufReader, src io.Reader) error {
	for {
		p := make([]byte, 4096)
		n, err := src.Read(p)
		if err != nil {
			return err
		}
		if err := add(to, p[:n]); err != nil {
			return err
		}
	}
}

func copies(r *sluice.BufReader, to []*sluice.BufReader) error {
	p, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	for _, f := range to {
		if err := add(f, bytes.Clone(p)); err != nil {
			return err
		}
	}
	return to[0].FeedCopy(p)
}

// looked at here, and fed by another way.
func either(to *sluice.BufReader, p []byte, whole bool) error {
	if whole {
		return to.Feed(p)
	}
	return to.FeedCopy(p)
}

func counted(to *sluice.BufReader, src io.Reader, pool *bytepool.BytePool) error {
	p := pool.Get()
	n, err := src.Read(p)
	if err != nil {
		pool.Put(p)
		return err
	}
	return to.FeedBuf(mem.Wrap(p[:n], func() { pool.Put(p) }))
}

func handler(to *aio.Conn[sluice.BufReader]) *aio.ConnHandler[sluice.BufReader] {
	return &aio.ConnHandler[sluice.BufReader]{
		Data: func(c *aio.Conn[sluice.BufReader], p []byte) error {
			own := bytes.Clone(p)
			if err := to.Do(func() { to.Write(own) }); err != nil {
				return err
			}
			return c.State.FeedCopy(p)
		},
		Buf: func(_ *aio.Conn[sluice.BufReader], b mem.Buf) error {
			err := to.Do(func() { to.WriteBuf(b) })
			if err != nil {
				b.Release()
			}
			return err
		},
	}
}

// nested parses a message that lies in another one, while that is lent.
func nested(r *sluice.BufReader) (int, error) {
	p, err := r.Next(100)
	if err != nil {
		return 0, err
	}
	inner := sluice.NewBufReaderBytes(p)
	defer inner.Recycle()
	return inner.ReadBE(4)
}

type filler struct{ s mem.Slab }

// begin takes s, transferred, and returns its memory to write into.
func (f *filler) begin(s mem.Slab) []byte {
	f.s = s //sluice:moved
	return f.s.Bytes()
}

func filled(f *filler, a *mem.Allocator, p []byte) int {
	s := a.Slab(len(p))
	return copy(f.begin(s), p)
}

func byName(r *sluice.BufReader, values *sync.Map, counted *sync.Map) error {
	p, err := r.ReadLineSlice()
	if err != nil {
		return err
	}
	values.Store(string(p), bytes.Clone(p))
	values.Store("latest", len(p))
	b, err := r.ReadBuf(10)
	if err != nil {
		return err
	}
	counted.Store("latest", b)
	return nil
}
