// Package shared hands references on by generic functions and out of maps, and makes them of
// bytes that are lent, for as long as these are.
package shared

import (
	"container/list"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

func send[T any](ch chan<- T, v T) { ch <- v }

func offer[T any](ch chan<- T, v T) bool {
	select {
	case ch <- v:
		return true
	default:
		return false
	}
}

func same[T any](v T, err error) (T, error) { return v, err }

func each[T any](v T, f func(T)) { f(v) }

func count[T any](n int, v T) (int, T) { return n + 1, v }

type queue[T any] struct {
	mu    sync.Mutex
	items []T
}

func (q *queue[T]) push(v T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, v)
}

// put reports whether there was room.
func (q *queue[T]) put(v T) bool {
	if len(q.items) > 10 {
		return false
	}
	q.items = append(q.items, v)
	return true
}

// has only looks.
func (q *queue[T]) has(v T, same func(a, b T) bool) bool {
	return slices.ContainsFunc(q.items, func(w T) bool { return same(v, w) })
}

func sent(r *sluice.BufReader, ch chan<- mem.Buf) error {
	b, err := r.ReadBuf(4)
	if err != nil {
		return err
	}
	send(ch, b)
	return nil
}

func pushed(r *sluice.BufReader, q *queue[mem.Buf]) error {
	b, err := r.ReadBuf(4)
	if err != nil {
		return err
	}
	q.push(b)
	return nil
}

func offered(r *sluice.BufReader, ch chan<- mem.Buf, q *queue[mem.Buf]) error {
	b, err := r.ReadBuf(4)
	if err != nil {
		return err
	}
	if offer(ch, b) {
		return nil
	}
	if !q.put(b) {
		b.Release()
	}
	return nil
}

func through(r *sluice.BufReader) (int, error) {
	b, err := same(r.ReadBuf(4))
	if err != nil {
		return 0, err
	}
	n, b := count(b.Len(), b)
	b.Release()
	return n, nil
}

func released(r *sluice.BufReader) error {
	b, err := r.ReadBuf(4)
	if err != nil {
		return err
	}
	each(b, func(b mem.Buf) { b.Release() })
	return nil
}

// Values are no references.
func values(ch chan<- *int, q *queue[[]byte], n *int, p []byte) int {
	send(ch, n)
	q.push(p)
	p[0] = 1
	return *n + len(p)
}

type cache struct {
	all  map[string]mem.Buf
	byID map[int]*mem.Memory
	last *mem.Memory
	cur  mem.Buf
}

func (c *cache) write(w *sluice.BufWriter, name string) error {
	return w.WriteBuf(c.all[name].Retain())
}

func (c *cache) take(w *sluice.BufWriter, name string) error {
	b := c.all[name]
	delete(c.all, name)
	return w.WriteBuf(b)
}

func (c *cache) flush(w *sluice.BufWriter, names []string) error {
	for _, name := range names {
		if err := w.WriteBuf(c.all[name]); err != nil {
			return err
		}
	}
	clear(c.all)
	return nil
}

func (c *cache) drain(w *sluice.BufWriter) (err error) {
	for name := range c.all {
		err = w.WriteBuf(c.all[name])
	}
	c.all = nil
	return err
}

func (c *cache) remove(name string) { delete(c.all, name) }

func (c *cache) takeBy(w *sluice.BufWriter, name string) error {
	b := c.all[name]
	c.remove(name)
	return w.WriteBuf(b)
}

// deliver is for those who take out of the map what it has handed on.
func (c *cache) deliver(ch chan<- mem.Buf, name string) { ch <- c.all[name] }

func (c *cache) deliverAll(ch chan<- mem.Buf, names []string) {
	for _, name := range names {
		c.deliver(ch, name)
		delete(c.all, name)
	}
}

// One more way to what the map owns.
func (c *cache) point(id int) { c.last = c.byID[id] }

func (c *cache) size(name string) int { return c.all[name].Len() }

func local(r *sluice.BufReader, w *sluice.BufWriter, names []string) error {
	all := map[string]mem.Buf{}
	for _, name := range names {
		b, err := r.ReadBuf(4)
		if err != nil {
			return err
		}
		all[name] = b
	}
	for _, name := range names {
		if err := w.WriteBuf(all[name]); err != nil {
			return err
		}
	}
	return nil
}

func wrapped(r *sluice.BufReader, w *sluice.BufWriter) error {
	p, err := r.Next(100)
	if err != nil {
		return err
	}
	if err := w.WriteBuf(mem.Wrap(p, nil)); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return r.Skip(4)
}

func looked(r *sluice.BufReader, use func(mem.Buf)) error {
	p, err := r.Next(100)
	if err != nil {
		return err
	}
	b := mem.Wrap(p, nil)
	use(b)
	b.Release()
	return r.Skip(4)
}

func (c *cache) forNow(r *sluice.BufReader, use func(*cache)) error {
	p, err := r.Next(100)
	if err != nil {
		return err
	}
	c.cur = mem.Wrap(p, nil)
	use(c)
	c.cur.Release()
	return nil
}

func both(r *sluice.BufReader) (n int, err error) {
	var two [2]mem.Buf
	if two[0], err = r.ReadBuf(4); err != nil {
		return 0, err
	}
	if two[1], err = r.ReadBuf(4); err != nil {
		two[0].Release()
		return 0, err
	}
	n = two[0].Len() + two[1].Len()
	two[0].Release()
	two[1].Release()
	return n, nil
}

func three(r *sluice.BufReader, ws []*sluice.BufWriter) error {
	var refs [3]mem.Buf
	if err := r.ReadBufs(4, refs[:]); err != nil {
		return err
	}
	for i := range refs {
		if err := ws[i].WriteBuf(refs[i]); err != nil {
			return err
		}
	}
	return nil
}

func later[T any](ch chan<- T, v T) {
	go func() { ch <- v }()
}

func atLast[T any](ch chan<- T, v T) {
	defer func() { ch <- v }()
}

func sentLater(r *sluice.BufReader, ch chan<- mem.Buf) error {
	b, err := r.ReadBuf(4)
	if err != nil {
		return err
	}
	later(ch, b)
	if b, err = r.ReadBuf(4); err != nil {
		return err
	}
	atLast(ch, b)
	return nil
}

// What a list of any values is given it has.
func listed(r *sluice.BufReader, l *list.List, m *sync.Map) error {
	b, err := r.ReadBuf(4)
	if err != nil {
		return err
	}
	l.PushBack(b)
	if b, err = r.ReadBuf(4); err != nil {
		return err
	}
	m.Store("latest", b)
	return nil
}

type newest struct{ memory atomic.Pointer[mem.Memory] }

func (n *newest) set(r *sluice.BufReader) error {
	m, err := r.ReadBytes(4)
	if err != nil {
		return err
	}
	if old := n.memory.Swap(m); old != nil {
		old.Release()
	}
	return nil
}
