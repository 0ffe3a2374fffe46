package sluice

import (
	"encoding/binary"
	"fmt"
	"math"
)

// ReadByte returns the next byte.
func (b *BufReader) ReadByte() (byte, error) {
	w := &b.win
	if w.R == w.W {
		return b.byteSlow()
	}
	c := w.Buf[w.R]
	w.R++
	return c, nil
}

//go:noinline
func (b *BufReader) byteSlow() (byte, error) {
	if err := b.want(1); err != nil {
		return 0, err
	}
	return b.take(1)[0], nil
}

// ReadBE reads n bytes, 1 to 4, as a big-endian unsigned number. Another n
// panics. Where int has 32 bits a number that does not fit is ErrTooLong,
// and nothing is consumed. When bytes are missing nothing is consumed.
func (b *BufReader) ReadBE(n int) (int, error) {
	if uint(n-1) > 3 {
		panicNumber("ReadBE", n)
	}
	v, err := b.ReadBE32(n)
	if err != nil {
		return 0, rename(err, "ReadBE")
	}
	if uint64(v) > math.MaxInt {
		b.win.R -= n
		return 0, &Error{op: "ReadBE", limit: math.MaxInt, got: int64(v), Err: errNumber}
	}
	return int(v), nil
}

// ReadBE32 reads n bytes, 1 to 4, as a big-endian unsigned number. Another n
// panics. When bytes are missing nothing is consumed.
func (b *BufReader) ReadBE32(n int) (uint32, error) {
	if r := b.win.R; n == 4 && b.win.W-r >= 4 {
		b.win.R = r + 4
		return binary.BigEndian.Uint32(b.win.Buf[r:]), nil
	}
	p, err := b.number("ReadBE32", n)
	if err != nil {
		return 0, err
	}
	if len(p) == 4 {
		return binary.BigEndian.Uint32(p), nil
	}
	var v uint32
	for _, c := range p {
		v = v<<8 | uint32(c)
	}
	return v, nil
}

// ReadLE32 is ReadBE32 for little-endian numbers.
func (b *BufReader) ReadLE32(n int) (uint32, error) {
	p, err := b.number("ReadLE32", n)
	if err != nil {
		return 0, err
	}
	if len(p) == 4 {
		return binary.LittleEndian.Uint32(p), nil
	}
	var v uint32
	for i, c := range p {
		v |= uint32(c) << (8 * i)
	}
	return v, nil
}

func (b *BufReader) number(op string, n int) ([]byte, error) {
	if uint(n-1) > 3 {
		panicNumber(op, n)
	}
	if n > b.win.W-b.win.R {
		if err := b.whole(op, n); err != nil {
			return nil, err
		}
	}
	return b.take(n), nil
}

//go:noinline
func panicNumber(op string, n int) {
	panic(fmt.Sprintf("sluice: BufReader.%s(%d): 1 to 4 bytes", op, n))
}
