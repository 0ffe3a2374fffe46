package netsim

import (
	"fmt"
	"io"
	"math"
)

// A Loop is a reader of the same bytes over and over. It fills whatever it is
// given, costs one copy per Read, and allocates nothing.
type Loop struct {
	data []byte
	at   int   // next byte of data; len(data) stands for 0
	left int64 // bytes until io.EOF; when endless, until it is set again
	n    int64
}

// NewLoop returns a Loop over data that ends in io.EOF after n bytes, in the
// middle of data if n says so, or never if n is negative. The Loop borrows
// data for as long as it is read: it must not be changed in that time. Several
// Loops may share it. NewLoop panics when n is not 0 and there is no data to
// repeat.
func NewLoop(data []byte, n int64) *Loop {
	if len(data) == 0 && n != 0 {
		panic(fmt.Sprintf("netsim: NewLoop: 0 bytes of data to be repeated for %d bytes", n))
	}
	l := &Loop{data: data, n: n}
	l.Reset()
	return l
}

// Reset begins again, at the first byte and with all n bytes to come.
func (l *Loop) Reset() {
	l.at, l.left = 0, l.n
	if l.n < 0 {
		l.left = math.MaxInt64
	}
}

// Read fills p, or what is left of n. It borrows p until it returns.
func (l *Loop) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		if l.n < 0 {
			l.left = math.MaxInt64
		} else {
			p = p[:l.left]
			if l.left == 0 {
				return 0, io.EOF
			}
		}
	}
	n := copy(p, l.data[l.at:])
	l.at += n
	for n < len(p) {
		l.at = copy(p[n:], l.data)
		n += l.at
	}
	l.left -= int64(n)
	return n, nil
}
