package sluice

import (
	"encoding/binary"
	"fmt"

	"github.com/sluice-go/sluice/mem"
)

// WriteFrame writes the length of p and then p, which is transferred, also when
// it fails. The length takes prefix bytes, 1 to 4, in the given order; with 0 it
// is an unsigned varint, as encoding/binary writes it. The order may be nil for
// 0 and 1. Another prefix, or no order where one is needed, panics.
//
// A length that does not fit the prefix is ErrTooLong: nothing was written and
// the writer can be used on.
func (b *BufWriter) WriteFrame(prefix int, order binary.ByteOrder, p mem.Buf) error {
	n := p.Len()
	if uint(prefix) > 4 || prefix > 1 && order == nil {
		panicFrame(prefix, order)
	}
	if prefix > 0 && uint64(n)>>(8*prefix) != 0 {
		err := b.failed()
		if err == nil {
			err = &Error{op: "WriteFrame", limit: 1<<(8*prefix) - 1, got: int64(n), Err: ErrTooLong}
		}
		p.Release()
		return err
	}
	var room [binary.MaxVarintLen64]byte
	head := appendLength(room[:0], prefix, order, n)
	if b.err == nil && n < b.copyBelow && len(head)+n <= len(b.buf)-b.e {
		b.e += copy(b.buf[b.e:], head)
		b.e += copy(b.buf[b.e:], p.Bytes())
		p.Release()
		return nil
	}
	_ = b.failed() // panics when the writer is busy, before p is taken
	given := false
	defer func() { // also when the writer below panics
		if !given {
			p.Release()
		}
	}()
	if _, err := copyIn(b, head); err != nil {
		return err
	}
	given = true
	return b.WriteBuf(p)
}

// appendLength appends n as WriteFrame's prefix to head.
func appendLength(head []byte, prefix int, order binary.ByteOrder, n int) []byte {
	switch {
	case prefix == 0:
		return binary.AppendUvarint(head, uint64(n))
	case prefix == 1:
		return append(head, byte(n))
	case lowFirst(order):
		for i := range prefix {
			head = append(head, byte(n>>(8*i)))
		}
	default:
		for i := range prefix {
			head = append(head, byte(n>>(8*(prefix-1-i))))
		}
	}
	return head
}

// lowFirst reports whether the lowest byte of a number comes first. It asks the
// order, because there are more than the two of encoding/binary and because
// none of them knows numbers of 3 bytes.
func lowFirst(order binary.ByteOrder) bool {
	return order.Uint16(lowIsOne) == 1
}

// lowIsOne is 1 if the lowest byte comes first. It is only read.
var lowIsOne = []byte{1, 0}

//go:noinline
func panicFrame(prefix int, order binary.ByteOrder) {
	panic(fmt.Sprintf("sluice: BufWriter.WriteFrame(%d, %v): the prefix is 1 to 4 bytes in some order, or 0 for a varint", prefix, order))
}
