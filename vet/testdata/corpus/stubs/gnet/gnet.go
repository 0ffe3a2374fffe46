// Package gnet has the shape of the real one, for the corpus.
package gnet

type Reader interface {
	Read(p []byte) (int, error)
	Next(n int) (buf []byte, err error)
	Peek(n int) (buf []byte, err error)
	Discard(n int) (int, error)
	InboundBuffered() int
}

type Conn interface {
	Reader
	Write(p []byte) (int, error)
	AsyncWrite(buf []byte, done func(c Conn, err error) error) error
	Context() any
	SetContext(ctx any)
}

type Action int

const None Action = 0
