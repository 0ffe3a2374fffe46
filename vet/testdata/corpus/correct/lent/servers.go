package lent

import (
	"bufio"
	"bytes"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// What servers and frameworks do with what they are lent.

// headerList cuts a header at its commas; the pieces are stored in their own list.
func headerList(header []byte) [][]byte {
	list := bytes.Split(bytes.TrimSpace(header), []byte(","))
	for i := range list {
		list[i] = bytes.TrimSpace(list[i])
	}
	return list
}

func offers(ctx *fasthttp.RequestCtx, wanted []byte) bool {
	for _, offer := range headerList(ctx.Request.Header.Peek("Sec-WebSocket-Extensions")) {
		if bytes.Equal(offer, wanted) {
			return true
		}
	}
	return false
}

// A served has the context of a request for as long as that is served; they come from
// a pool.
type served struct {
	ctx  *fasthttp.RequestCtx
	vec  [2][]byte
	list [][]byte
}

var pooledServed sync.Pool

func serveOne(ctx *fasthttp.RequestCtx) {
	f := acquireServed(ctx)
	_, _ = ctx.Write(f.ctx.Path())
	f.ctx = nil
	pooledServed.Put(f)
}

func acquireServed(ctx *fasthttp.RequestCtx) *served {
	f, ok := pooledServed.Get().(*served)
	if !ok {
		panic("something else in the pool")
	}
	f.ctx = ctx
	return f
}

// withTimeout answers for a handler that takes too long.
func withTimeout(h func(*fasthttp.RequestCtx), long time.Duration) func(*fasthttp.RequestCtx) {
	return func(ctx *fasthttp.RequestCtx) {
		done := make(chan struct{}, 1)
		go func() {
			h(ctx)
			done <- struct{}{}
		}()
		select {
		case <-done:
		case <-time.After(long):
			_, _ = ctx.Write([]byte("timeout"))
		}
	}
}

type job struct{ done chan error }

// inAnother serves on another goroutine and waits for it.
func inAnother(ctx *fasthttp.RequestCtx, j *job) error {
	go func() {
		_, err := ctx.Write(ctx.Path())
		j.done <- err
	}()
	return <-j.done
}

// built is in the writer's room, if that is enough, or else in memory of its own, which
// is kept for the next time.
func (c *conn) built(w *bufio.Writer) error {
	p := append(w.AvailableBuffer(), c.title...)
	if cap(p) != w.Available() {
		c.name = p
	}
	_, err := w.Write(p)
	return err
}

// both writes two pieces and forgets them.
func (f *served) both(c *conn, head, body []byte) error {
	f.vec[0], f.vec[1] = head, body
	for _, p := range f.vec[:] {
		if _, err := c.Write(p); err != nil {
			f.vec[0], f.vec[1] = nil, nil
			return err
		}
	}
	f.vec[0], f.vec[1] = nil, nil
	return nil
}

func (f *served) forward(c *conn) error {
	head, err := c.br.Peek(4)
	if err != nil {
		return err
	}
	return f.both(c, head, head)
}
