// Package bufiox has the shape of the real one, for the corpus.
package bufiox

type Reader interface {
	Next(n int) (p []byte, err error)
	Peek(n int) (buf []byte, err error)
	ReadBinary(bs []byte) (n int, err error)
	Skip(n int) error
	Release(e error) error
}
