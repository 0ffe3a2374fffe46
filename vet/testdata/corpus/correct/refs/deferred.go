package refs

import (
	"io"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// A deferred call of a method with a pointer receiver ends what the variable holds by then.

func deferredOfTheNext(r *sluice.BufReader, a *mem.Allocator) error {
	b, err := r.ReadBuf(1)
	if err != nil {
		return err
	}
	defer b.Release()
	for range 3 {
		next := a.Get(b.Len())
		b.Release()
		b = next //sluice:moved
	}
	return nil
}

func deferredOfAnotherBlock(a *mem.Allocator, src io.Reader, out chan<- mem.Buf) error {
	s := a.Slab(64 << 10)
	defer s.Release()
	at := 0
	for {
		n, err := src.Read(s.Bytes()[at:])
		if n > 0 {
			out <- s.Cut(at, n)
			at += n
		}
		if err != nil {
			return err
		}
		if len(s.Bytes())-at < 1024 {
			s.Release()
			s, at = a.Slab(64<<10), 0
		}
	}
}

func deferredByALiteral(r *sluice.BufReader, a *mem.Allocator) error {
	var b mem.Buf
	defer func() {
		if b.Valid() {
			b.Release()
		}
	}()
	b = a.Get(1)
	if _, err := r.ReadByte(); err != nil {
		return err
	}
	b.Release()
	b = a.Get(2)
	return nil
}
