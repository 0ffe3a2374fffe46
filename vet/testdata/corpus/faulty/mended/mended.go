// Package mended has faults that a suggested fix mends; mended.golden is what
// becomes of it.
package mended

import (
	"bufio"
	"errors"
	"io"
	"net"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

type peer struct {
	name []byte
}

func (p *peer) login(br *bufio.Reader) error {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return err
	}
	p.name = line[5:] // want `stored in the field name`
	return nil
}

func feed(sc *bufio.Scanner, to chan<- []byte) {
	for sc.Scan() {
		to <- sc.Bytes() // want `stored in a channel`
	}
}

func greeting(conn net.Conn) ([]byte, error) {
	r := sluice.NewBufReader(conn)
	defer r.Recycle()
	line, err := r.ReadLineSlice()
	if err != nil {
		return nil, err
	}
	return line, nil // want `returned after BufReader.Recycle`
}

func headAndBody(br *bufio.Reader, body []byte) (byte, error) {
	head, err := br.Peek(4)
	if err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(br, body); err != nil {
		return 0, err
	}
	return head[3], nil // want `used after io.ReadFull`
}

func first(r *sluice.BufReader) (byte, error) {
	b, err := r.ReadBuf(16) // want `not released`
	if err != nil {
		return 0, err
	}
	if b.Len() == 0 {
		return 0, errors.New("empty")
	}
	return b.Bytes()[0], nil
}

func both(a, b *sluice.BufWriter, p mem.Buf) error {
	err := a.WriteBuf(p)
	p.Release() // want `used after it was transferred`
	return err
}
