// Package handlers keeps what a fasthttp handler is lent.
package handlers

import (
	"fmt"
	"time"

	"github.com/valyala/fasthttp"
)

type store struct {
	sessions map[string][]byte
	last     []byte
	current  *fasthttp.RequestCtx
}

func (s *store) body(ctx *fasthttp.RequestCtx) {
	s.last = ctx.PostBody() // want `stored in the field last`
}

func (s *store) query(ctx *fasthttp.RequestCtx) {
	token := ctx.QueryArgs().Peek("token")
	s.sessions[string(ctx.Path())] = token // want `stored in a map`
}

func (s *store) header(ctx *fasthttp.RequestCtx) {
	s.last = ctx.Request.Header.Peek("X-Token") // want `stored in the field last`
}

func (s *store) keep(ctx *fasthttp.RequestCtx) {
	s.current = ctx // want `stored in the field current`
}

func background(ctx *fasthttp.RequestCtx) {
	go func() { // want `stored in a goroutine`
		time.Sleep(time.Second)
		fmt.Println(string(ctx.Path()))
	}()
}

func audit(log chan<- []byte) func(*fasthttp.RequestCtx) {
	return func(ctx *fasthttp.RequestCtx) {
		log <- ctx.Path() // want `stored in a channel`
	}
}

func later(ctx *fasthttp.RequestCtx) {
	time.AfterFunc(time.Minute, func() { // want `runs later`
		fmt.Println(len(ctx.PostBody()))
	})
}

func client(url string) ([]byte, error) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI(url)
	if err := fasthttp.Do(req, resp); err != nil {
		return nil, err
	}
	return resp.Body(), nil // want `returned after fasthttp.ReleaseResponse`
}

func released(url string) int {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	req.SetRequestURI(url)
	err := fasthttp.Do(req, resp)
	fasthttp.ReleaseRequest(req)
	fasthttp.ReleaseResponse(resp)
	if err != nil {
		return 0
	}
	return len(resp.Body()) // want `used after fasthttp.ReleaseResponse`
}
