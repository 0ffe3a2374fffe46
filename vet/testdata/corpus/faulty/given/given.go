// Package given uses what it has handed over.
package given

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

func releasedOnError(w *sluice.BufWriter, b mem.Buf) error {
	if err := w.WriteBuf(b); err != nil {
		b.Release() // want `used after it was transferred`
		return err
	}
	return nil
}

func counts(r *sluice.BufReader, w *sluice.BufWriter) (int, error) {
	b, err := r.ReadBuf(100)
	if err != nil {
		return 0, err
	}
	if err := w.WriteBuf(b); err != nil {
		return 0, err
	}
	return b.Len(), nil // want `used after it was transferred`
}

func toTwo(a, b *sluice.BufWriter, p mem.Buf) error {
	if err := a.WriteBuf(p); err != nil {
		return err
	}
	return b.WriteBuf(p) // want `used after it was transferred`
}

func toAll(ws []*sluice.BufWriter, r *sluice.BufReader) error {
	p, err := r.ReadBuf(10) // want `not released`
	if err != nil {
		return err
	}
	for _, w := range ws {
		if err := w.WriteBuf(p); err != nil { // want `used after it was transferred`
			return err
		}
	}
	return nil
}

func deferred(r *sluice.BufReader, w *sluice.BufWriter) error {
	p, err := r.ReadBuf(10)
	if err != nil {
		return err
	}
	defer p.Release() // want `used after it was transferred`
	return w.WriteFrame(4, binary.BigEndian, p)
}

func viewAfter(w *sluice.BufWriter, m *mem.Memory) error {
	p := m.Bytes()
	if err := w.WriteMemory(m); err != nil {
		return fmt.Errorf("writing %x: %w", p, err) // want `used after it was transferred`
	}
	return nil
}

func memoryAgain(w *sluice.BufWriter, m *mem.Memory) error {
	if err := w.WriteMemory(m); err != nil {
		return err
	}
	m.Release() // want `used after it was transferred`
	return nil
}

func appended(m *mem.Memory, b mem.Buf) int {
	m.Append(b)
	return m.Size + b.Len() // want `used after it was transferred`
}

func list(a, b mem.Buf) (*mem.Memory, int) {
	m := mem.NewMemory(a, b)
	return m, a.Len() // want `used after it was transferred`
}

func publishes(p *live.Publisher, d *flv.Decoder) error {
	for {
		t, err := d.Next()
		if err != nil {
			return err
		}
		f := live.Frame{Type: t.Type, Time: t.Time, Payload: t.Payload}
		if err := p.Publish(f); err != nil {
			t.Release() // want `used after it was transferred`
			return err
		}
	}
}

func writesTag(d *flv.Decoder, e *flv.Encoder, sizes []int) error {
	t, err := d.Next()
	if err != nil {
		return err
	}
	if err := e.WriteTag(t); err != nil {
		return err
	}
	sizes[0] += t.Payload.Len() // want `used after it was transferred`
	return nil
}

func answers(c *rtmp.Conn) error {
	m, err := c.ReadMessage()
	if err != nil {
		return err
	}
	defer m.Release() // want `used after it was transferred`
	if m.Type == rtmp.TypeAudio {
		return c.WriteMessage(m)
	}
	return nil
}

func asynchronous(w *aio.Watcher, conn net.Conn, b mem.Buf) error {
	err := w.WriteBuf(nil, conn, b, time.Time{})
	if errors.Is(err, aio.ErrQueueFull) {
		return w.WriteBuf(nil, conn, b, time.Now().Add(time.Second)) // want `used after it was transferred`
	}
	return err
}

func sent(r *sluice.BufReader, out chan<- mem.Buf) error {
	for {
		b, err := r.ReadBuf(32)
		if err != nil {
			return err
		}
		out <- b
		fmt.Println("sent", b.Len()) // want `used after it was transferred`
		if b.Len() == 0 {
			return nil
		}
	}
}

func trySend(b mem.Buf, out chan<- mem.Buf) (dropped bool) {
	select {
	case out <- b:
	default:
		dropped = true
	}
	b.Release() // want `used after it was transferred`
	return dropped
}

type queue struct {
	list  []mem.Buf
	first mem.Buf
	last  mem.Buf
}

func (q *queue) both(b mem.Buf) {
	q.first = b
	q.last = b // want `copied`
}

func (q *queue) push(b mem.Buf) {
	q.list = append(q.list, b)
	b.Release() // want `copied`
}

func (q *queue) set(r *sluice.BufReader) error {
	b, err := r.ReadBuf(4)
	if err != nil {
		return err
	}
	q.last = b
	defer b.Release() // want `copied`
	return nil
}

func forgotOnError(w *sluice.BufWriter, ready func() error, b mem.Buf) {
	if ready() != nil {
		return // want `not on this one`
	}
	w.WriteBuf(b)
}

func (q *queue) add(b mem.Buf, max int) {
	if len(q.list) >= max {
		return // want `not on this one`
	}
	q.list = append(q.list, b)
}

func ifAsked(w *sluice.BufWriter, b mem.Buf, asked, sends bool) error {
	var own mem.Buf
	if asked {
		own = b.Retain() // want `not released on the path`
	}
	if asked && sends {
		return w.WriteBuf(own)
	}
	return nil
}

func fedAgain(r *sluice.BufReader, c net.Conn) error {
	p := make([]byte, 4096)
	for {
		n, err := c.Read(p) // want `used after it was transferred`
		if err != nil {
			return err
		}
		if err := r.Feed(p[:n]); err != nil {
			return err
		}
	}
}

func fedAcross(r *sluice.BufReader, p []byte) error {
	if err := r.Feed(p[:10]); err != nil {
		return err
	}
	return r.Feed(p[5:]) // want `used after it was transferred`
}

func fedWithAnOverlap(r *sluice.BufReader, p []byte, n int) error {
	if err := r.Feed(p[:n]); err != nil {
		return err
	}
	return r.Feed(p[n-1:]) // want `used after it was transferred`
}

func sentAgain(r *sluice.BufReader, c net.Conn) error {
	p := make([]byte, 4096)
	for {
		n, err := c.Read(p) // want `used after it was transferred to the send`
		if err != nil {
			return err
		}
		r.Mouth <- p[:n]
	}
}

func offered(r *sluice.BufReader, p []byte) bool {
	select {
	case r.Mouth <- p:
		p[0] = 0 // want `used after it was transferred to the send`
		return true
	default:
		return false
	}
}

type parsed struct{ topic, body []byte }

func parts(r *sluice.BufReader, out chan<- parsed) error {
	b, err := r.ReadBuf(100)
	if err != nil {
		return err
	}
	defer b.Release()
	p := b.Bytes()
	out <- parsed{p[:2], p[2:]} // want `stored in a channel`
	return nil
}

func partsBehind(r *sluice.BufReader, out chan<- *parsed) error {
	b, err := r.ReadBuf(100)
	if err != nil {
		return err
	}
	out <- &parsed{topic: b.Bytes()} // want `stored in a channel`
	b.Release()
	return nil
}

type lastOf struct{ parsed parsed }

func (l *lastOf) parts(r *sluice.BufReader) error {
	b, err := r.ReadBuf(100)
	if err != nil {
		return err
	}
	defer b.Release()
	l.parsed = parsed{body: b.Bytes()[2:]} // want `stored in the field`
	return nil
}

func wrappedAgain(w *sluice.BufWriter) error {
	p := make([]byte, 100)
	for i := range 10 {
		p[0] = byte(i) // want `used after it was transferred`
		if err := w.WriteBuf(mem.Wrap(p, nil)); err != nil {
			return err
		}
	}
	return w.Flush()
}

func wrapped(w *sluice.BufWriter, p []byte) error {
	if err := w.WriteBuf(mem.Wrap(p, nil)); err != nil {
		return err
	}
	p[0] = 0 // want `used after it was transferred`
	return w.Flush()
}
