package mem

import (
	"bufio"
	"fmt"
	"io"
)

// MemoryReader reads a Memory from the front, across its parts. It holds no
// reference: the Memory must not be released, compacted or clipped by others
// while it is in use, and a reader whose Memory was released panics. A copy of
// a MemoryReader is a bookmark: both read on from the same place.
//
// A call that fails has changed nothing. It fails with io.EOF at the end of
// the bytes, io.ErrUnexpectedEOF when some are left but too few, and
// bufio.ErrNegativeCount when a count is negative.
type MemoryReader struct {
	// Length is the number of bytes that are left, to be read only. It is a
	// field because code written for GoMem reads it as one.
	Length int

	m    *Memory
	part int // the part that the next byte is in, or where it would be
	off  int // its place there, up to and including the part's end
}

// Read fills p with the next bytes, as many as there are, and returns how many.
// At the end it returns io.EOF, unless p is empty. p is borrowed until it returns.
func (r *MemoryReader) Read(p []byte) (int, error) {
	r.live("Read")
	if len(p) == 0 {
		return 0, nil
	}
	if r.Length == 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && r.Length > 0 {
		n += copy(p[n:], r.step(len(p)-n))
	}
	return n, nil
}

// ReadByte returns the next byte.
func (r *MemoryReader) ReadByte() (byte, error) {
	r.live("ReadByte")
	if r.Length == 0 {
		return 0, io.EOF
	}
	return r.step(1)[0], nil
}

// ReadBE returns the next n bytes as a big-endian unsigned number, n = 0..8.
// More than 8 panics.
func (r *MemoryReader) ReadBE(n int) (uint64, error) {
	if err := r.number("ReadBE", n); err != nil {
		return 0, err
	}
	var v uint64
	for n > 0 {
		p := r.step(n)
		for _, c := range p {
			v = v<<8 | uint64(c)
		}
		n -= len(p)
	}
	return v, nil
}

// ReadLE returns the next n bytes as a little-endian unsigned number, n = 0..8.
// More than 8 panics.
func (r *MemoryReader) ReadLE(n int) (uint64, error) {
	if err := r.number("ReadLE", n); err != nil {
		return 0, err
	}
	var v uint64
	for shift := 0; n > 0; {
		p := r.step(n)
		for _, c := range p {
			v |= uint64(c) << shift
			shift += 8
		}
		n -= len(p)
	}
	return v, nil
}

func (r *MemoryReader) number(op string, n int) error {
	if n > 8 {
		panic(fmt.Sprintf("mem: MemoryReader.%s(%d): a number has 0 to 8 bytes", op, n))
	}
	return r.need(op, n)
}

// Skip passes over the next n bytes.
func (r *MemoryReader) Skip(n int) error {
	if err := r.need("Skip", n); err != nil {
		return err
	}
	for n > 0 {
		n -= len(r.step(n))
	}
	return nil
}

// Range reads all that is left and calls yield with each part of it, borrowed
// until the Memory is released.
func (r *MemoryReader) Range(yield func([]byte)) {
	r.live("Range")
	if yield == nil { // as GoMem's may be
		panic("mem: MemoryReader.Range with a nil function")
	}
	for r.Length > 0 {
		yield(r.step(r.Length))
	}
}

// RangeN reads the next n bytes and calls yield with each part of them,
// borrowed until the Memory is released. When fewer are left, yield is not
// called.
func (r *MemoryReader) RangeN(n int, yield func([]byte)) error {
	if yield == nil {
		panic("mem: MemoryReader.RangeN with a nil function")
	}
	if err := r.need("RangeN", n); err != nil {
		return err
	}
	for n > 0 {
		p := r.step(n)
		n -= len(p)
		yield(p)
	}
	return nil
}

// ClipFront drops what was read from the Memory and releases the Bufs that
// held nothing else; r goes on where it stood. It returns how many bytes were
// dropped. Other readers of the same Memory, and what was borrowed from its
// front, must not be used afterwards.
func (r *MemoryReader) ClipFront() int {
	r.live("ClipFront")
	m := r.m
	m.unwritten("ClipFront")
	if r.part < len(m.Buffers) && r.off == len(m.Buffers[r.part]) {
		r.part, r.off = r.part+1, 0
	}
	size := m.Size
	m.clip(r.part, r.off)
	r.part, r.off = 0, 0
	return size - m.Size
}

// step passes over the next bytes of one part, at least one and at most n, and
// returns them. The caller knows that Length is not 0.
func (r *MemoryReader) step(n int) []byte {
	p := r.m.Buffers[r.part]
	if r.off == len(p) {
		r.part, r.off = r.part+1, 0
		p = r.m.Buffers[r.part]
	}
	n = min(n, len(p)-r.off, r.Length)
	i := r.off
	r.off += n
	r.Length -= n
	return p[i:r.off:r.off]
}

func (r *MemoryReader) need(op string, n int) error {
	r.live(op)
	switch {
	case n < 0:
		return bufio.ErrNegativeCount
	case n <= r.Length:
		return nil
	case r.Length == 0:
		return io.EOF
	}
	return io.ErrUnexpectedEOF
}

func (r *MemoryReader) live(op string) {
	if r.m == nil || r.m.released {
		panicReader(op)
	}
}

//go:noinline
func panicReader(op string) {
	panic("mem: MemoryReader." + op + ": the Memory was released, or there is none")
}
