package netsim

import (
	"fmt"
	"io"
)

// What the connection below says of its own calls is not trusted: it is what a test is about, and
// one of them is made by a goroutine in which the test cannot recover.

func (c *Conn) readInner(p []byte) (int, error) {
	n, err := c.inner.Read(p)
	if n < 0 || n > len(p) {
		return 0, fmt.Errorf("netsim: %T.Read of %d bytes returned %d", c.inner, len(p), n)
	}
	return n, err
}

func (c *Conn) writeInner(p []byte) (int, error) {
	n, err := c.inner.Write(p)
	switch {
	case n < 0 || n > len(p):
		return 0, fmt.Errorf("netsim: %T.Write of %d bytes returned %d", c.inner, len(p), n)
	case n < len(p) && err == nil:
		err = io.ErrShortWrite
	}
	return n, err
}
