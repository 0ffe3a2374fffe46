// Package refs forgets to release, and releases too often.
package refs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
	"github.com/sluice-go/sluice/rtsp"
)

var errBad = errors.New("bad")

func dropped(r *sluice.BufReader) (int, error) {
	b, err := r.ReadBuf(16) // want `not released`
	if err != nil {
		return 0, err
	}
	return int(b.Bytes()[0]), nil
}

func earlyReturn(r *sluice.BufReader) error {
	b, err := r.ReadBuf(16) // want `not released on the path`
	if err != nil {
		return err
	}
	if b.Bytes()[0] != 1 {
		return errBad
	}
	b.Release()
	return nil
}

func errorPath(r *sluice.BufReader, w io.Writer) error {
	b, err := r.ReadFrame(4, binary.BigEndian, 0) // want `not released`
	if err != nil {
		return err
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	b.Release()
	return nil
}

func continues(r *sluice.BufReader, out chan<- string) error {
	for {
		b, err := r.ReadFrame(4, binary.BigEndian, 0) // want `not released when the loop comes round`
		if err != nil {
			return err
		}
		if b.Len() == 0 || b.Bytes()[0] == '#' {
			continue
		}
		out <- string(b.Bytes())
		b.Release()
	}
}

func breaks(r *sluice.BufReader) (n int) {
	for {
		b, err := r.ReadBuf(64) // want `not released`
		if err != nil {
			return n
		}
		if bytes.HasPrefix(b.Bytes(), []byte("end")) {
			break
		}
		n += b.Len()
		b.Release()
	}
	return n
}

func panics(a *mem.Allocator, n int) int {
	b := a.Get(n) // want `not released`
	p := b.Bytes()
	if p[0] == 0xdb {
		panic("poison")
	}
	sum := 0
	for _, c := range p {
		sum += int(c)
	}
	b.Release()
	return sum
}

func oneCase(r *sluice.BufReader) error {
	b, err := r.ReadBuf(8) // want `not released`
	if err != nil {
		return err
	}
	switch b.Bytes()[0] {
	case 'a':
		b.Release()
		return nil
	case 'b':
		fmt.Println("b")
		return nil
	default:
		b.Release()
		return errBad
	}
}

func overwritten(r *sluice.BufReader) error {
	b, err := r.ReadBuf(8) // want `not released`
	if err != nil {
		return err
	}
	fmt.Println(b.Len())
	b, err = r.ReadBuf(8)
	if err != nil {
		return err
	}
	b.Release()
	return nil
}

func twice(a *mem.Allocator) {
	b := a.Get(10)
	copy(b.Bytes(), "0123456789")
	fmt.Println(string(b.Bytes()))
	b.Release()
	b.Release() // want `released twice`
}

func deferAndRelease(r *sluice.BufReader) error {
	b, err := r.ReadBuf(8)
	if err != nil {
		return err
	}
	defer b.Release() // want `released twice`
	if b.Bytes()[0] == 0 {
		b.Release()
		return errBad
	}
	return nil
}

func copyReleased(r *sluice.BufReader) error {
	b, err := r.ReadBuf(8)
	if err != nil {
		return err
	}
	c := b
	c.Release()
	b.Release() // want `released twice`
	return nil
}

func branchThenRelease(r *sluice.BufReader, verbose bool) error {
	b, err := r.ReadBuf(8)
	if err != nil {
		return err
	}
	if verbose {
		fmt.Println(b.Len())
		b.Release()
	}
	b.Release() // want `released twice`
	return nil
}

func usedAfter(r *sluice.BufReader) (byte, error) {
	b, err := r.ReadBuf(8)
	if err != nil {
		return 0, err
	}
	p := b.Bytes()
	b.Release()
	return p[0], nil // want `used after Buf.Release`
}

func sliceUsedAfter(a *mem.Allocator, r io.Reader) (string, error) {
	b := a.Get(512)
	n, err := r.Read(b.Bytes())
	line := b.Bytes()[:n]
	b.Release()
	if err != nil {
		return "", err
	}
	return string(line), nil // want `used after Buf.Release`
}

func returnsView(r *sluice.BufReader) ([]byte, error) {
	b, err := r.ReadBuf(8)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	return b.Bytes(), nil // want `returned after Buf.Release`
}

func lenAfter(r *sluice.BufReader, log func(int)) error {
	b, err := r.ReadBuf(8)
	if err != nil {
		return err
	}
	b.Release()
	log(b.Len()) // want `used after Buf.Release`
	return nil
}

func compacted(r *sluice.BufReader) (byte, error) {
	b, err := r.ReadBuf(8)
	if err != nil {
		return 0, err
	}
	defer b.Release()
	p := b.Bytes()
	b.Compact()
	return p[0], nil // want `used after Buf.Compact`
}

func memoryDropped(r *sluice.BufReader, w io.Writer) error {
	m, err := r.ReadBytes(1 << 20) // want `not released`
	if err != nil {
		return err
	}
	_, err = m.WriteTo(w)
	return err
}

func memoryTwice(r *sluice.BufReader, w io.Writer) error {
	m, err := r.ReadBytes(100)
	if err != nil {
		return err
	}
	defer m.Release() // want `released twice`
	if _, err = m.WriteTo(w); err != nil {
		m.Release()
	}
	return err
}

func memoryParts(r *sluice.BufReader) (n int, err error) {
	m, err := r.ReadBytes(100)
	if err != nil {
		return 0, err
	}
	parts := m.Buffers
	m.Release()
	for _, p := range parts { // want `used after Memory.Release`
		n += bytes.Count(p, []byte("x"))
	}
	return n, nil
}

func memoryReader(m *mem.Memory) (uint64, error) {
	second := m.Retain() // want `not released`
	r := second.NewReader()
	return r.ReadBE(4)
}

func retained(b mem.Buf, send func([]byte) error) error {
	mine := b.Retain() // want `not released`
	if err := send(mine.Bytes()); err != nil {
		return err
	}
	mine.Release()
	return nil
}

func slice(b mem.Buf) []byte {
	head := b.RetainedSlice(0, 4) // want `not released`
	return bytes.Clone(head.Bytes())
}

func slab(a *mem.Allocator, conn net.Conn) (mem.Buf, error) {
	s, err := a.TrySlab(4096) // want `not released`
	if err != nil {
		return mem.Buf{}, err
	}
	n, err := conn.Read(s.Bytes())
	if err != nil {
		return mem.Buf{}, err
	}
	b := s.Cut(0, n)
	s.Release()
	return b, nil
}

func tag(d *flv.Decoder) (uint32, error) {
	t, err := d.Next() // want `not released`
	if err != nil {
		return 0, err
	}
	if t.Type != flv.TagVideo {
		return 0, nil
	}
	time := t.Time
	t.Release()
	return time, nil
}

func tagTwice(d *flv.Decoder, e *flv.Encoder) error {
	t, err := d.Next()
	if err != nil {
		return err
	}
	if t.Payload.Len() == 0 {
		t.Payload.Release()
	}
	t.Release() // want `released twice`
	return nil
}

func message(c *rtmp.Conn) error {
	for {
		m, err := c.ReadMessage() // want `not released when the loop comes round`
		if err != nil {
			return err
		}
		if m.Type == rtmp.TypeAudio {
			continue
		}
		fmt.Println(m.Type)
		m.Release()
	}
}

func item(r *rtsp.Reader) error {
	it, err := r.Read() // want `not released`
	if err != nil {
		return err
	}
	if it.Request == nil {
		return errBad
	}
	it.Release()
	return nil
}

func received(in <-chan mem.Buf, w io.Writer) error {
	for b := range in { // want `not released`
		if _, err := w.Write(b.Bytes()); err != nil {
			return err
		}
		b.Release()
	}
	return nil
}

func selected(in <-chan mem.Buf, done <-chan struct{}) int {
	select {
	case b := <-in: // want `not released`
		return b.Len()
	case <-done:
		return 0
	}
}

func onlyOnSuccess(r *sluice.BufReader, parse func([]byte) error) (err error) {
	b, err := r.ReadBuf(12) // want `not released`
	if err != nil {
		return err
	}
	if err = parse(b.Bytes()); err == nil {
		b.Release()
	}
	return err
}

func wrong(a, b *sluice.BufReader) error {
	x, err := a.ReadBuf(4) // want `not released`
	if err != nil {
		return err
	}
	y, err := b.ReadBuf(4)
	if err != nil {
		return err
	}
	defer y.Release()
	defer x.Release()
	return nil
}

func shared(b mem.Buf, n int) int {
	b.Release()
	sum := 0
	for range n {
		sum += len(b.Bytes()) // want `used after Buf.Release`
	}
	return sum
}

func budget(a *mem.Allocator, n int) ([]byte, error) {
	b, err := a.TryGet(n) // want `not released`
	if errors.Is(err, mem.ErrBudget) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append([]byte("x"), b.Bytes()...), nil
}

func freed(a *mem.Allocator, r io.Reader) (byte, error) {
	p := a.Malloc(64)
	if _, err := io.ReadFull(r, p); err != nil {
		return 0, err
	}
	a.Free(p)
	return p[0], nil // want `used after Allocator.Free`
}

// Where there is no return statement the path ends at the brace.

func forgottenAtTheEnd(r *sluice.BufReader, n *int) {
	b, err := r.ReadBuf(16) // want `not released on the path that ends at line 424`
	if err != nil {
		return
	}
	*n = b.Len()
}

func retainedInVain(b mem.Buf) {
	b.Retain() // want `Buf.Retain is not released on the path that ends at line 429`
	b.Release()
}

func bodyAfter(it rtsp.Item) (string, int) {
	q := it.Request
	q.Body.Release()
	return q.Method, q.Body.Len() // want `used after Buf.Release`
}
