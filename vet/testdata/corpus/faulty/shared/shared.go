// Package shared hands references on by generic functions, out of maps, and made of bytes
// that are lent.
package shared

import (
	"errors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/aio"
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

type queue[T any] struct{ items []T }

func (q *queue[T]) push(v T) { q.items = append(q.items, v) }

func twice[T any](q *queue[T], v T) { q.push(v) }

func sent(r *sluice.BufReader, ch chan<- mem.Buf) (int, error) {
	b, err := r.ReadBuf(4)
	if err != nil {
		return 0, err
	}
	send(ch, b)
	return b.Len(), nil // want `used after it was transferred`
}

func pushed(r *sluice.BufReader, q *queue[mem.Buf]) error {
	b, err := r.ReadBuf(4)
	if err != nil {
		return err
	}
	q.push(b)
	b.Release() // want `copied|used after it was transferred`
	return nil
}

func pushedByAnother(r *sluice.BufReader, q *queue[mem.Buf]) error {
	b, err := r.ReadBuf(4)
	if err != nil {
		return err
	}
	twice(q, b)
	b.Release() // want `copied|used after it was transferred`
	return nil
}

func lentPushed(r *sluice.BufReader, q *queue[[]byte]) error {
	p, err := r.Next(4)
	if err != nil {
		return err
	}
	q.push(p) // want `stored in queue`
	return nil
}

func lentSent(r *sluice.BufReader, ch chan []byte) error {
	p, err := r.Next(4)
	if err != nil {
		return err
	}
	send(ch, p) // want `stored in`
	return nil
}

type cache struct {
	all    map[string]mem.Buf
	parts  map[string]*mem.Memory
	latest mem.Buf
	list   []mem.Buf
}

var byName = map[string]mem.Buf{}

func (c *cache) write(w *sluice.BufWriter, name string) error {
	return w.WriteBuf(c.all[name]) // want `copied: the map`
}

func (c *cache) evict(name string) {
	b := c.all[name]
	delete(c.all, name)
	b.Release()
}

func (c *cache) writeParts(w *sluice.BufWriter, name string) error {
	m, ok := c.parts[name]
	if !ok {
		return errors.New("no such parts")
	}
	return w.WriteMemory(m) // want `copied: the map`
}

func (c *cache) remember(name string) {
	c.latest = c.all[name] // want `copied: the map`
}

func (c *cache) push(ch chan<- mem.Buf, name string) {
	if b, ok := c.all[name]; ok {
		ch <- b // want `copied: the map`
	}
}

func (c *cache) under(name, other string, to map[string]mem.Buf) {
	to[other] = c.all[name] // want `copied: the map`
}

func global(w *sluice.BufWriter, name string) error {
	return w.WriteBuf(byName[name]) // want `copied: the map`
}

func (c *cache) wrapped(r *sluice.BufReader) error {
	p, err := r.Next(100)
	if err != nil {
		return err
	}
	c.latest = mem.Wrap(p, nil) // want `stored in the field`
	return nil
}

func wrappedSent(r *sluice.BufReader, ch chan<- mem.Buf) error {
	p, err := r.Next(100)
	if err != nil {
		return err
	}
	ch <- mem.Wrap(p, nil) // want `stored in a channel`
	return nil
}

func (c *cache) wrappedInList(r *sluice.BufReader) error {
	p, err := r.Next(100)
	if err != nil {
		return err
	}
	c.list = append(c.list, mem.Wrap(p, nil)) // want `stored in the field`
	return nil
}

func (c *cache) wrappedInMap(r *sluice.BufReader) error {
	p, err := r.Next(100)
	if err != nil {
		return err
	}
	b := mem.Wrap(p, nil)
	c.all["latest"] = b // want `stored in a map`
	return nil
}

func wrappedBefore(r *sluice.BufReader, w *sluice.BufWriter) error {
	p, err := r.Next(100)
	if err != nil {
		return err
	}
	b := mem.Wrap(p, nil)
	if err := r.Skip(4); err != nil {
		b.Release()
		return err
	}
	return w.WriteBuf(b) // want `used after BufReader.Skip`
}

func wrappedLent() *aio.ConnHandler[cache] {
	return &aio.ConnHandler[cache]{
		Data: func(c *aio.Conn[cache], p []byte) error {
			c.State.latest = mem.Wrap(p, nil) // want `stored in the field`
			return nil
		},
	}
}

func wrappedByAFunction(r *sluice.BufReader, ch chan<- mem.Buf) error {
	b, err := next(r)
	if err != nil {
		return err
	}
	ch <- b // want `stored in a channel`
	return nil
}

func next(r *sluice.BufReader) (mem.Buf, error) {
	p, err := r.Next(100)
	if err != nil {
		return mem.Buf{}, err
	}
	return mem.Wrap(p, nil), nil
}

func half(r *sluice.BufReader) (n int, err error) {
	var two [2]mem.Buf
	if two[0], err = r.ReadBuf(4); err != nil {
		return 0, err
	}
	if two[1], err = r.ReadBuf(4); err != nil { // want `not released`
		two[0].Release()
		return 0, err
	}
	n = two[0].Len() + two[1].Len()
	two[0].Release()
	return n, nil
}
