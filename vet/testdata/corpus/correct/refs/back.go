package refs

import (
	"errors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// A function that takes a reference and returns it, or another one, or none.

func orError(b mem.Buf) (mem.Buf, error) {
	if b.Len() == 0 {
		b.Release()
		return mem.Buf{}, errors.New("empty")
	}
	return b, nil
}

func orFalse(b mem.Buf) (mem.Buf, bool) {
	if b.Len() == 0 {
		b.Release()
		return mem.Buf{}, false
	}
	return b, true
}

func orPart(b mem.Buf) mem.Buf {
	if b.Len() < 100 {
		return b
	}
	s := b.RetainedSlice(0, 100)
	b.Release()
	return s
}

func backOrError(r *sluice.BufReader) error {
	b, err := r.ReadBuf(1)
	if err != nil {
		return err
	}
	b, err = orError(b)
	if err != nil {
		return err
	}
	b.Release()
	return nil
}

func backReturned(r *sluice.BufReader) (mem.Buf, error) {
	b, err := r.ReadBuf(1)
	if err != nil {
		return mem.Buf{}, err
	}
	return orError(b)
}

func backOrFalse(r *sluice.BufReader) int {
	b, err := r.ReadBuf(1)
	if err != nil {
		return 0
	}
	if c, ok := orFalse(b); ok {
		n := c.Len()
		c.Release()
		return n
	}
	return 1
}

func backOrPart(r *sluice.BufReader) (mem.Buf, error) {
	b, err := r.ReadBuf(200)
	if err != nil {
		return mem.Buf{}, err
	}
	return orPart(b), nil
}

func backIntoList(m *mem.Memory, b mem.Buf) { // transferred
	m.Append(orPart(b))
}

// Elements of lists are many references.

func elements(r *sluice.BufReader) error {
	var list [2]mem.Buf
	for i := range list {
		b, err := r.ReadBuf(1)
		if err != nil {
			for k := range i {
				list[k].Release()
			}
			return err
		}
		list[i] = b //sluice:moved
	}
	for i := range list {
		list[i].Release()
	}
	return nil
}
