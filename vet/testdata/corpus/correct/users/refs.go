package users

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// References in queues, frames, goroutines.

func fanOut(b mem.Buf, subs []chan mem.Buf) {
	defer b.Release()
	for _, s := range subs {
		c := b.Retain()
		select {
		case s <- c:
		default:
			c.Release()
		}
	}
}

func shared(b mem.Buf, subs []chan mem.Buf) {
	refs := make([]mem.Buf, len(subs))
	b.Share(refs)
	for i, s := range subs {
		s <- refs[i]
	}
	b.Release()
}

func cancelled(ctx context.Context, r *sluice.BufReader, out chan<- mem.Buf) error {
	for ctx.Err() == nil {
		b, err := r.ReadBuf(64)
		if err != nil {
			return err
		}
		select {
		case out <- b:
		case <-ctx.Done():
			b.Release()
			return ctx.Err()
		}
	}
	return ctx.Err()
}

func notSent(r *sluice.BufReader, w *sluice.BufWriter, allowed func([]byte) bool) (err error) {
	b, err := r.ReadBuf(4)
	if err != nil {
		return err
	}
	given := false
	defer func() {
		if !given {
			b.Release()
		}
	}()
	if !allowed(b.Bytes()) {
		return errors.New("not allowed")
	}
	given = true
	return w.WriteBuf(b)
}

func cleanUp(r *sluice.BufReader, q *queue, check func([]byte) error) (err error) {
	b, err := r.ReadBuf(4)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			b.Release()
		}
	}()
	if err = check(b.Bytes()); err != nil {
		return err
	}
	q.push(b)
	return nil
}

type queue struct {
	mu     sync.Mutex
	items  []mem.Buf
	byName map[string]mem.Buf
	cur    *mem.Memory
	closed bool
}

func (q *queue) push(b mem.Buf) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		b.Release()
		return
	}
	q.items = append(q.items, b)
}

func (q *queue) pop() (b mem.Buf, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return mem.Buf{}, false
	}
	b = q.items[0]
	q.items = q.items[1:]
	return b, true
}

func (q *queue) drain(w io.Writer) (err error) {
	for {
		b, ok := q.pop()
		if !ok {
			return err
		}
		if err == nil {
			_, err = w.Write(b.Bytes())
		}
		b.Release()
	}
}

func (q *queue) close() {
	q.mu.Lock()
	items := q.items
	q.items, q.closed = nil, true
	q.mu.Unlock()
	for _, b := range items {
		b.Release()
	}
	for name, b := range q.byName {
		b.Release()
		delete(q.byName, name)
	}
	if q.cur != nil {
		q.cur.Release()
		q.cur = nil
	}
}

func (q *queue) set(name string, b mem.Buf) {
	if old, ok := q.byName[name]; ok {
		old.Release()
	}
	q.byName[name] = b
}

func (q *queue) add(r *sluice.BufReader) error {
	m, err := r.ReadBytes(100)
	if err != nil {
		return err
	}
	old := q.cur
	q.cur = m
	if old != nil {
		old.Release()
	}
	return nil
}

type frame struct {
	kind byte
	data mem.Buf
}

func (f *frame) release() { f.data.Release() }

func readFrame(r *sluice.BufReader) (f frame, err error) {
	if f.data, err = r.ReadBuf(16); err != nil {
		return f, err
	}
	f.kind = f.data.Bytes()[0]
	return f, nil
}

func frames(r *sluice.BufReader, w io.Writer) error {
	for {
		f, err := readFrame(r)
		if err != nil {
			return err
		}
		if f.kind == 0 {
			f.release()
			continue
		}
		_, err = w.Write(f.data.Bytes()[1:])
		f.release()
		if err != nil {
			return err
		}
	}
}

func framePointer(r *sluice.BufReader) (*frame, error) {
	b, err := r.ReadBuf(16)
	if err != nil {
		return nil, err
	}
	return &frame{kind: b.Bytes()[0], data: b}, nil
}

func firstValid(rs []*sluice.BufReader) (b mem.Buf, err error) {
	for _, r := range rs {
		if b, err = r.ReadBuf(4); err == nil {
			return b, nil
		}
	}
	return b, err
}

func inBackground(r *sluice.BufReader, work func([]byte)) error {
	b, err := r.ReadBuf(64)
	if err != nil {
		return err
	}
	go func() {
		defer b.Release()
		work(b.Bytes())
	}()
	return nil
}

func inBackgroundRetained(r *sluice.BufReader, work func([]byte)) error {
	b, err := r.ReadBuf(64)
	if err != nil {
		return err
	}
	defer b.Release()
	c := b.Retain()
	go func() {
		work(c.Bytes())
		c.Release()
	}()
	return nil
}

func waitedFor(r *sluice.BufReader, works []func([]byte)) error {
	b, err := r.ReadBuf(64)
	if err != nil {
		return err
	}
	defer b.Release()
	var all sync.WaitGroup
	for _, work := range works {
		all.Add(1)
		go func(p []byte) {
			defer all.Done()
			work(p)
		}(b.Bytes())
	}
	all.Wait()
	return nil
}

func retries(r *sluice.BufReader, send func([]byte) error) error {
	b, err := r.ReadBuf(16)
	if err != nil {
		return err
	}
	defer b.Release()
	for range 3 {
		if err = send(b.Bytes()); err == nil {
			return nil
		}
	}
	return err
}

func echo(w *aio.Watcher, done <-chan struct{}) error {
	for {
		select {
		case <-done:
			return nil
		default:
		}
		results, err := w.WaitIO()
		if err != nil {
			return err
		}
		for _, r := range results {
			switch {
			case r.Error != nil:
				_ = w.Free(r.Conn)
			case r.Operation == aio.OpRead:
				if err := w.Write(r.Context, r.Conn, append([]byte(nil), r.Buffer[:r.Size]...)); err != nil {
					return err
				}
			}
		}
	}
}

func lookAhead(r *sluice.BufReader) (int, error) {
	p, err := r.Peek(2)
	if err != nil {
		return 0, err
	}
	n := int(p[0])<<8 | int(p[1])
	if p, err = r.Peek(2 + n); err != nil {
		return 0, err
	}
	sum := 0
	for _, c := range p[2:] {
		sum += int(c)
	}
	return sum, r.Skip(2 + n)
}

func growing(a *mem.Allocator, r io.Reader, want int) (mem.Buf, error) {
	b, err := a.TryGet(64)
	if err != nil {
		return mem.Buf{}, err
	}
	n := 0
	for n < want {
		if n == b.Len() {
			bigger, err := a.TryGet(2 * b.Len())
			if err != nil {
				b.Release()
				return mem.Buf{}, err
			}
			copy(bigger.Bytes(), b.Bytes())
			b.Release()
			b = bigger
		}
		k, err := r.Read(b.Bytes()[n:])
		if err != nil {
			b.Release()
			return mem.Buf{}, err
		}
		n += k
	}
	return b, nil
}
