// Package pools uses what it has put back.
package pools

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/valyala/bytebufferpool"

	"github.com/sluice-go/sluice/bytepool"
)

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

type scratch struct {
	buf []byte
	n   int
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func encode(v any) ([]byte, error) {
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	if err := json.NewEncoder(b).Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil // want `returned after Pool.Put`
}

func render(w http.ResponseWriter, f func(io.Writer)) {
	b := buffers.Get().(*bytes.Buffer)
	b.Reset()
	f(b)
	buffers.Put(b)
	w.Write(b.Bytes()) // want `used after Pool.Put`
}

func viewOutlivesPut(f func(io.Writer)) int {
	b := buffers.Get().(*bytes.Buffer)
	b.Reset()
	f(b)
	p := b.Bytes()
	buffers.Put(b)
	return bytes.Count(p, []byte{'\n'}) // want `used after Pool.Put`
}

func fieldAfterPut() int {
	s := scratches.Get().(*scratch)
	s.n++
	scratches.Put(s)
	return s.n // want `used after Pool.Put`
}

func putTwice(err error) {
	s := scratches.Get().(*scratch)
	if err != nil {
		scratches.Put(s)
	}
	s.n = 0          // want `used after Pool.Put`
	scratches.Put(s) // want `released twice`
}

func doublePut(fail bool) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s) // want `released twice`
	if fail {
		scratches.Put(s)
		return
	}
	s.n++
}

func returnsPooled() *scratch {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.buf = s.buf[:0]
	return s // want `returned after Pool.Put`
}

func innerSlice(r io.Reader) ([]byte, error) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	n, err := r.Read(s.buf)
	return s.buf[:n], err // want `returned after Pool.Put`
}

func putParam(p *sync.Pool, b *[]byte) byte {
	p.Put(b)
	return (*b)[0] // want `used after Pool.Put`
}

func recycle(s *scratch) {
	s.n = 0
	scratches.Put(s)
}

func throughHelper(s *scratch) int {
	recycle(s)
	return len(s.buf) // want `used after`
}

func byteSlices(p *bytepool.BytePool, r io.Reader) (string, error) {
	b := p.Get()
	n, err := r.Read(b)
	p.Put(b)
	return string(b[:n]), err // want `used after BytePool.Put`
}

func deferredPut(p *bytepool.BytePool, r io.Reader) ([]byte, error) {
	b := p.Get()
	defer p.Put(b)
	n, err := io.ReadFull(r, b)
	return b[:n], err // want `returned after BytePool.Put`
}

func putAll(p *bytepool.ByteFixPool, n int) {
	b := p.Get()
	for range n {
		p.Put(b) // want `released twice`
	}
}

func budgetLoop(p *bytepool.BudgetPool, r io.Reader, out chan<- byte) error {
	b := p.GetOrMake()
	for {
		if _, err := r.Read(b); err != nil { // want `used after BudgetPool.Put`
			p.Put(b) // want `released twice`
			return err
		}
		out <- b[0]
		p.Put(b)
	}
}

func valyala(v any) ([]byte, error) {
	b := bytebufferpool.Get()
	defer bytebufferpool.Put(b)
	err := json.NewEncoder(b).Encode(v)
	return b.Bytes(), err // want `returned after bytebufferpool.Put`
}

func valyalaField(v any) int {
	b := bytebufferpool.Get()
	json.NewEncoder(b).Encode(v)
	bytebufferpool.Put(b)
	return b.Len() // want `used after bytebufferpool.Put`
}

type cache struct {
	pool *sync.Pool
	cur  *scratch
}

func (c *cache) flush(w io.Writer) error {
	c.pool.Put(c.cur)
	_, err := w.Write(c.cur.buf) // want `used after Pool.Put`
	return err
}

type pair struct{ part *scratch }

var pairs, parts sync.Pool

func putPair(p *pair) {
	parts.Put(p.part)
	pairs.Put(p)
}

func partTwice(p *pair) {
	parts.Put(p.part)
	putPair(p) // want `released twice`
}
