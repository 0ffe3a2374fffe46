package refs

import (
	"errors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

func orError(b mem.Buf) (mem.Buf, error) {
	if b.Len() == 0 {
		b.Release()
		return mem.Buf{}, errors.New("empty")
	}
	return b, nil
}

func backForgotten(r *sluice.BufReader) error {
	b, err := r.ReadBuf(1)
	if err != nil {
		return err
	}
	c, err := orError(b) // want `is not released`
	if err != nil {
		return err
	}
	_ = c.Len()
	return nil
}

func backTwice(r *sluice.BufReader) error {
	b, err := r.ReadBuf(1)
	if err != nil {
		return err
	}
	c, err := orError(b)
	if err != nil {
		return err
	}
	c.Release()
	b.Release() // want `after it was transferred`
	return nil
}

func backOnError(r *sluice.BufReader) error {
	b, err := r.ReadBuf(1)
	if err != nil {
		return err
	}
	c, err := orError(b)
	if err != nil {
		b.Release() // want `after it was transferred`
		return err
	}
	c.Release()
	return nil
}
