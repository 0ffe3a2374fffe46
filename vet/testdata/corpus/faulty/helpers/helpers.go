// Package helpers misuses what helpers of another package lend and take.
package helpers

import (
	"bufio"
	"bytes"
	"fmt"

	"example.com/corpus/faulty/helpers/wire"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

type client struct {
	name []byte
	wire *wire.Conn
}

func lines(br *bufio.Reader) (bool, error) {
	a, err := wire.Line(br)
	if err != nil {
		return false, err
	}
	b, err := wire.Line(br)
	if err != nil {
		return false, err
	}
	return bytes.Equal(a, b), nil // want `used after wire.Line`
}

func (c *client) stored(br *bufio.Reader) (err error) {
	c.name, err = wire.Line(br) // want `stored in the field name`
	return err
}

func filled(br *bufio.Reader) (byte, error) {
	p, err := br.Peek(4)
	if err != nil {
		return 0, err
	}
	if err := wire.Fill(br); err != nil {
		return 0, err
	}
	return p[0], nil // want `used after wire.Fill`
}

func (c *client) head() (byte, error) {
	head, err := c.wire.Head()
	if err != nil {
		return 0, err
	}
	if err := c.wire.SkipBody(int(head[0])); err != nil {
		return 0, err
	}
	return head[1], nil // want `used after Conn.SkipBody`
}

func (c *client) body() (byte, error) {
	b, err := c.wire.Body(10) // want `not released`
	if err != nil {
		return 0, err
	}
	return b.Bytes()[0], nil
}

func (c *client) kept() error {
	head, err := c.wire.Head()
	if err != nil {
		return err
	}
	c.wire.Remember(head) // want `which keeps them`
	return nil
}

func dropped(r *sluice.BufReader) error {
	b, err := r.ReadBuf(4)
	if err != nil {
		return err
	}
	wire.Drop(b)
	fmt.Println(b.Len()) // want `used after wire.Drop`
	return nil
}

func sent(w *sluice.BufWriter, b mem.Buf) error {
	err := wire.Send(w, b)
	if err != nil {
		b.Release() // want `used after it was transferred`
	}
	return err
}

func trimmed(r *sluice.BufReader) (string, error) {
	p, err := r.Next(8)
	if err != nil {
		return "", err
	}
	p = wire.Trim(p)
	if _, err := r.ReadByte(); err != nil {
		return "", err
	}
	return string(p), nil // want `used after BufReader.ReadByte`
}

func pooled(v any) []byte {
	b := wire.GetBuffer()
	defer wire.PutBuffer(b)
	fmt.Fprint(b, v)
	return b.Bytes() // want `returned after wire.PutBuffer`
}
