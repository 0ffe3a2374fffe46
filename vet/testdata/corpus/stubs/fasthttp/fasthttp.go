// Package fasthttp has the shape of the real one, for the corpus.
package fasthttp

type Args struct{ buf []byte }

func (a *Args) Peek(key string) []byte { return a.buf }

type RequestHeader struct{ buf []byte }

func (h *RequestHeader) Peek(key string) []byte { return h.buf }

type Request struct {
	Header RequestHeader
	body   []byte
}

func (r *Request) Body() []byte           { return r.body }
func (r *Request) SetRequestURI(u string) {}

type Response struct{ body []byte }

func (r *Response) Body() []byte { return r.body }

type RequestCtx struct {
	Request  Request
	Response Response
	body     []byte
}

func (c *RequestCtx) PostBody() []byte            { return c.body }
func (c *RequestCtx) Path() []byte                { return c.body }
func (c *RequestCtx) QueryArgs() *Args            { return &Args{} }
func (c *RequestCtx) Write(p []byte) (int, error) { return 0, nil }
func (c *RequestCtx) UserValue(key any) any       { return nil }

func AcquireRequest() *Request              { return &Request{} }
func ReleaseRequest(r *Request)             {}
func AcquireResponse() *Response            { return &Response{} }
func ReleaseResponse(r *Response)           {}
func Do(req *Request, resp *Response) error { return nil }
