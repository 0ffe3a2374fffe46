// Package pooled puts back what it does not use any more.
package pooled

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"github.com/valyala/bytebufferpool"
	"google.golang.org/grpc/mem"

	"github.com/sluice-go/sluice/bytepool"
)

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

type holder struct{ buf []byte }

var holders sync.Pool

func encode(w io.Writer, v any) error {
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	if err := json.NewEncoder(b).Encode(v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

func text(v any) (string, error) {
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	err := json.NewEncoder(b).Encode(v)
	return b.String(), err
}

func cloned(v any) ([]byte, error) {
	b := bytebufferpool.Get()
	defer bytebufferpool.Put(b)
	if err := json.NewEncoder(b).Encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(b.Bytes()), nil
}

// The slice is taken out of the holder before that goes back.
func get(n int) []byte {
	if h, ok := holders.Get().(*holder); ok {
		buf := h.buf
		h.buf = nil
		holders.Put(h)
		if cap(buf) >= n {
			return buf[:n]
		}
	}
	return make([]byte, n)
}

func put(b *bytes.Buffer) {
	if b.Cap() > 64<<10 {
		return
	}
	b.Reset()
	buffers.Put(b)
}

func useAndPut(v any, w io.Writer) (err error) {
	b := buffers.Get().(*bytes.Buffer)
	if err = json.NewEncoder(b).Encode(v); err == nil {
		_, err = b.WriteTo(w)
	}
	put(b)
	return err
}

func oneOrOther(p *bytepool.BytePool, r io.Reader, keep chan<- []byte) error {
	b := p.Get()
	n, err := r.Read(b)
	if err != nil {
		p.Put(b)
		return err
	}
	keep <- b[:n]
	return nil
}

func loop(p *bytepool.BytePool, r io.Reader, handle func([]byte)) error {
	for {
		b := p.Get()
		n, err := r.Read(b)
		if err == nil {
			handle(b[:n])
		}
		p.Put(b)
		if err != nil {
			return err
		}
	}
}

func freed(data []byte, pool mem.BufferPool, send func([]byte) error) error {
	b := mem.Copy(data, pool)
	defer b.Free()
	return send(b.ReadOnlyData())
}

func shared(data []byte, handle func(mem.Buffer)) {
	b := mem.Copy(data, mem.DefaultBufferPool())
	b.Ref()
	handle(b)
	b.Free()
}

// packet has a method on a slice, whose method values keep the slice itself.
type packet []byte

func (p packet) size() int { return len(p) }

func methodValue(pool *bytepool.BytePool, measure func(func() int)) {
	b := packet(pool.Get())
	measure(b.size)
	pool.Put(b)
}

func putLater(pool *sync.Pool, later func(func() int)) {
	b := pool.Get().(packet)
	later(b.size)
}

type message struct {
	buffer mem.Buffer
	err    error
}

type backlog struct {
	list []message
	pool mem.BufferPool
}

// compact makes one message of those from number i on.
func (b *backlog) compact(i int) {
	room, n := b.pool.Get(1<<10), 0
	for k := i; k < len(b.list); k++ {
		m := b.list[k]
		b.list[k] = message{}
		n += copy((*room)[n:], m.buffer.ReadOnlyData())
		m.buffer.Free()
	}
	b.list[i] = message{
		buffer: mem.NewBuffer(room, b.pool),
	}
	b.list = b.list[:i+1]
}

// What is in a pool already may be part of what is put into another.

type request struct{ body []byte }

type response struct {
	request *request
	status  int
}

var requests, responses sync.Pool

func putRequest(q *request) {
	if q != nil {
		*q = request{}
		requests.Put(q)
	}
}

func putResponse(r *response) {
	if r != nil {
		*r = response{}
		responses.Put(r)
	}
}

func putBoth(r *response) {
	putRequest(r.request)
	putResponse(r)
}

func putEach(r *response) {
	q := r.request
	requests.Put(q)
	responses.Put(r)
}

// What it leads to is put back as well, from a value.

type inflater struct {
	dict *[]byte
	name string
}

var dicts, inflaters sync.Pool

func putDict(p *[]byte) { dicts.Put(p) }

func putInflater(z inflater) {
	putDict(z.dict)
	inflaters.Put(z)
}
