// Package handlers keeps what a fasthttp handler is lent.
package handlers

import (
	"bytes"
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

type frame struct {
	ctx  *fasthttp.RequestCtx
	vec  [2][]byte
	done chan bool
}

func (f *frame) piece(ctx *fasthttp.RequestCtx) {
	f.vec[0] = ctx.PostBody() // want `stored in memory that is there afterwards`
	f.vec[1] = []byte("/")
}

func anotherChannel(ctx *fasthttp.RequestCtx, wait chan bool) {
	done := make(chan bool, 1)
	go func() { // want `stored in a goroutine`
		fmt.Println(string(ctx.Path()))
		done <- true
	}()
	<-wait
}

func (s *store) longest(ctx *fasthttp.RequestCtx) {
	p := ctx.PostBody()
	if cap(p) > cap(s.last) {
		s.last = p // want `stored in the field last`
	}
}

func lists(ctx *fasthttp.RequestCtx, all [][]byte) {
	list := bytes.Split(ctx.Path(), []byte("/"))
	copy(all, list)
	all[0] = list[0] // want `stored in memory that is there afterwards`
}
