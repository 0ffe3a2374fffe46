// Package netpoll has the shape of the real one, for the corpus.
package netpoll

type Reader interface {
	Next(n int) (p []byte, err error)
	Peek(n int) (buf []byte, err error)
	Skip(n int) error
	Until(delim byte) (line []byte, err error)
	ReadBinary(n int) (p []byte, err error)
	Slice(n int) (r Reader, err error)
	Release() error
	Len() int
}

type Writer interface {
	Malloc(n int) (buf []byte, err error)
	WriteBinary(b []byte) (n int, err error)
	Flush() error
}

type Connection interface {
	Reader() Reader
	Writer() Writer
	Close() error
}
