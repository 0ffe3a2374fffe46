// Package fed gives borrowed bytes, or a buffer that it uses again, to what takes them.
package fed

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/bytepool"
)

func fedBorrowed(r, to *sluice.BufReader) error {
	p, err := r.Next(10)
	if err != nil {
		return err
	}
	return to.Feed(p) // want `stored in BufReader.Feed, which keeps them`
}

func fedScanned(s *bufio.Scanner, to *sluice.BufReader) error {
	for s.Scan() {
		if err := to.Feed(s.Bytes()); err != nil { // want `from Scanner.Bytes .* stored in BufReader.Feed`
			return err
		}
	}
	return s.Err()
}

func fedThenReleased(r, to *sluice.BufReader) error {
	b, err := r.ReadBuf(10)
	if err != nil {
		return err
	}
	defer b.Release()
	return to.Feed(b.Bytes()) // want `stored in BufReader.Feed, which keeps them, where they are after Buf.Release`
}

// add is a helper: what is given to it is transferred.
func add(to *sluice.BufReader, p []byte) error { return to.Feed(p) }

func push(to *sluice.BufReader, p []byte) { to.Mouth <- p }

func addedBorrowed(r, to *sluice.BufReader) error {
	p, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	return add(to, p) // want `stored in fed.add, which keeps them`
}

func addedAgain(to *sluice.BufReader, c net.Conn) error {
	p := make([]byte, 4096)
	for {
		n, err := c.Read(p) // want `used after it was transferred to fed.add`
		if err != nil {
			return err
		}
		if err := add(to, p[:n]); err != nil {
			return err
		}
	}
}

func pushedAgain(to *sluice.BufReader, c net.Conn) error {
	p := make([]byte, 4096)
	for {
		n, err := c.Read(p) // want `used after it was transferred to fed.push`
		if err != nil {
			return err
		}
		push(to, p[:n])
	}
}

func pushedBorrowed(r, to *sluice.BufReader) error {
	p, err := r.Peek(1)
	if err != nil {
		return err
	}
	push(to, p) // want `stored in fed.push, which keeps them`
	return nil
}

// recycled is a helper: what is given to it goes into the pool.
func recycled(pool *bytepool.BytePool, p []byte) { pool.Put(p) }

func putByAHelper(pool *bytepool.BytePool) byte {
	p := pool.Get()
	recycled(pool, p)
	return p[0] // want `used after fed.recycled`
}

type parser struct{ r *sluice.BufReader }

func (p *parser) more(b []byte) error { return p.r.Feed(b) }

func fedByACallback() *aio.ConnHandler[parser] {
	return &aio.ConnHandler[parser]{
		Data: func(c *aio.Conn[parser], p []byte) error {
			return c.State.r.Feed(p) // want `stored in BufReader.Feed, which keeps them`
		},
	}
}

func fedByAHelperOfACallback() *aio.ConnHandler[parser] {
	return &aio.ConnHandler[parser]{
		Data: func(c *aio.Conn[parser], p []byte) error {
			return c.State.more(p) // want `stored in parser.more, which keeps them`
		},
	}
}

func doneLater(to *aio.Conn[parser]) *aio.ConnHandler[parser] {
	return &aio.ConnHandler[parser]{
		Data: func(_ *aio.Conn[parser], p []byte) error {
			return to.Do(func() { to.Write(p) }) // want `stored in .*Do, which runs later`
		},
	}
}

func doneWhenSent() *aio.ConnHandler[parser] {
	return &aio.ConnHandler[parser]{
		Data: func(c *aio.Conn[parser], p []byte) error {
			return c.WhenSent(func() { c.Write(p) }) // want `stored in .*WhenSent, which runs later`
		},
	}
}

func fedByAWatcher(w *aio.Watcher, to *sluice.BufReader) error {
	results, err := w.WaitIO()
	for i := range results {
		if r := &results[i]; r.Operation == aio.OpRead {
			if err := to.Feed(r.Buffer[:r.Size]); err != nil { // want `stored in BufReader.Feed, which keeps them`
				return err
			}
		}
	}
	return err
}

func newest(r *sluice.BufReader, line *atomic.Value) error {
	p, err := r.ReadLineSlice()
	if err != nil {
		return err
	}
	line.Store(p) // want `stored in Value.Store, which keeps them`
	return nil
}

func byName(r *sluice.BufReader, values *sync.Map) error {
	name, err := r.ReadLine()
	if err != nil {
		return err
	}
	p, err := r.ReadLineSlice()
	if err != nil {
		return err
	}
	values.Store(name, p) // want `stored in Map.Store, which keeps them`
	return nil
}
