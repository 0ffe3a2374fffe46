// Package refs releases, retains and hands over as it should.
package refs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
	"github.com/sluice-go/sluice/rtsp"
)

type queue struct {
	mu    sync.Mutex
	list  []mem.Buf
	last  mem.Buf
	names map[string]mem.Buf
	c     chan mem.Buf
}

func once(r *sluice.BufReader, w io.Writer) error {
	b, err := r.ReadFrame(4, binary.BigEndian, 1<<20)
	if err != nil {
		return err
	}
	defer b.Release()
	if b.Len() == 0 {
		return errors.New("empty")
	}
	_, err = w.Write(b.Bytes())
	return err
}

func eachPath(r *sluice.BufReader) (err error) {
	b, err := r.ReadBuf(16)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	switch b.Bytes()[0] {
	case 'a', 'b':
		b.Release()
	case 'c':
		b.Release()
		return errors.New("c")
	default:
		b.Release()
	}
	return nil
}

type carried struct {
	b     mem.Buf
	topic []byte
}

func carries(r *sluice.BufReader, out chan<- carried) error {
	b, err := r.ReadBuf(16)
	if err != nil {
		return err
	}
	out <- carried{b, b.Bytes()[:4]}
	return nil
}

func copies(r *sluice.BufReader, out chan<- *carried) error {
	b, err := r.ReadBuf(16)
	if err != nil {
		return err
	}
	out <- &carried{topic: bytes.Clone(b.Bytes())}
	b.Release()
	return nil
}

func rewrapped(b mem.Buf) mem.Buf {
	return mem.Wrap(b.Bytes()[4:], func() { b.Release() })
}

func fresh(r *sluice.BufReader, c net.Conn) error {
	for {
		p := make([]byte, 4096)
		n, err := c.Read(p)
		if err != nil {
			return err
		}
		if err := r.Feed(p[:n]); err != nil {
			return err
		}
	}
}

func fedInParts(r *sluice.BufReader, p []byte) error {
	for len(p) > 0 {
		n := min(len(p), 100)
		if err := r.Feed(p[:n:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

func fedInTwo(r *sluice.BufReader) error {
	p := make([]byte, 4096)
	if err := r.Feed(p[:10]); err != nil {
		return err
	}
	if err := r.Feed(p[10:20]); err != nil {
		return err
	}
	return r.Feed(p[24:])
}

func fedWithoutTrailers(r *sluice.BufReader, p []byte) error {
	for len(p) > 8 {
		end := 4 + int(p[3])
		if len(p) < end+4 {
			break
		}
		if err := r.Feed(p[4:end]); err != nil {
			return err
		}
		p = p[end+4:]
	}
	return nil
}

func sends(r *sluice.BufReader, c net.Conn, done <-chan struct{}) error {
	for {
		p := make([]byte, 4096)
		n, err := c.Read(p)
		if err != nil {
			return err
		}
		select {
		case r.Mouth <- p[:n]:
		case <-done:
			p[0] = 0
			return nil
		}
	}
}

func timeouts(r *sluice.BufReader, list []mem.Buf) []mem.Buf {
	for {
		b, err := r.ReadBuf(16)
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			continue
		}
		if err != nil {
			return list
		}
		list = append(list, b)
	}
}

func kinds(r *sluice.BufReader, q *queue) error {
	b, err := r.ReadBuf(16)
	switch err := err.(type) {
	case nil:
	case *sluice.Error:
		return err.Err
	default:
		return err
	}
	q.c <- b
	return nil
}

func asked(r *sluice.BufReader) (n int) {
	for n < 100 {
		b, err := r.ReadBuf(16)
		if passing(err) {
			continue
		}
		if os.IsTimeout(err) || websocketClosed(err, 1000, 1001) {
			return n
		}
		if err != nil {
			return -1
		}
		n++
		b.Release()
	}
	return n
}

func passing(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

func websocketClosed(err error, codes ...int) bool {
	return err != nil && len(codes) > 1
}

func flagged(r *sluice.BufReader, keep bool, q *queue) error {
	b, err := r.ReadBuf(16)
	if err != nil {
		return err
	}
	if keep {
		q.last = b
	}
	fmt.Println("read")
	if !keep {
		b.Release()
	}
	return nil
}

func transferred(r *sluice.BufReader, w *sluice.BufWriter) error {
	for {
		b, err := r.ReadFrame(4, binary.BigEndian, 0)
		if err != nil {
			return err
		}
		n := b.Len()
		if err := w.WriteFrame(4, binary.BigEndian, b); err != nil {
			return fmt.Errorf("writing %d bytes: %w", n, err)
		}
	}
}

func toBoth(a, b *sluice.BufWriter, p mem.Buf) error {
	second := p.Retain()
	return errors.Join(a.WriteBuf(p), b.WriteBuf(second))
}

func toAll(ws []*sluice.BufWriter, p mem.Buf) (err error) {
	for _, w := range ws {
		err = errors.Join(err, w.WriteBuf(p.Retain()))
	}
	p.Release()
	return err
}

func (q *queue) push(b mem.Buf) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, b)
}

func (q *queue) replace(b mem.Buf) {
	if q.last.Valid() {
		q.last.Release()
	}
	q.last = b
}

func (q *queue) trySend(b mem.Buf) bool {
	select {
	case q.c <- b:
		return true
	default:
		b.Release()
		return false
	}
}

func (q *queue) send(ctx context.Context, b mem.Buf) error {
	select {
	case q.c <- b:
		return nil
	case <-ctx.Done():
		b.Release()
		return context.Cause(ctx)
	}
}

func (q *queue) drain(w io.Writer) (err error) {
	for b := range q.c {
		if err == nil {
			_, err = w.Write(b.Bytes())
		}
		b.Release()
	}
	return err
}

func (q *queue) named(r *sluice.BufReader) error {
	name, err := r.ReadLine()
	if err != nil {
		return err
	}
	b, err := r.ReadBuf(10)
	if err != nil {
		return err
	}
	if old, ok := q.names[name]; ok {
		old.Release()
	}
	q.names[name] = b
	return nil
}

// copied returns p in counted memory, retained.
func copied(p []byte) mem.Buf {
	b := mem.Default().Get(len(p))
	copy(b.Bytes(), p)
	return b
}

func joined(head, body []byte) *mem.Memory {
	return mem.NewMemory(copied(head), copied(body))
}

func built(parts [][]byte) *mem.Memory {
	m := new(mem.Memory)
	for _, p := range parts {
		m.Append(copied(p))
	}
	return m
}

func closed(r *sluice.BufReader, out func(mem.Buf)) error {
	b, err := r.ReadBuf(4)
	if err != nil {
		return err
	}
	ok := false
	defer func() {
		if !ok {
			b.Release()
		}
	}()
	if b.Bytes()[0] == 0 {
		return errors.New("zero")
	}
	ok = true
	out(b)
	return nil
}

func spawned(r *sluice.BufReader, wait *sync.WaitGroup) error {
	for {
		b, err := r.ReadBuf(4)
		if err != nil {
			return err
		}
		wait.Go(func() {
			defer b.Release()
			fmt.Println(b.Len())
		})
	}
}

func fatal(a *mem.Allocator, r io.Reader) int {
	b := a.Get(100)
	n, err := io.ReadFull(r, b.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	b.Release()
	return n
}

func slab(a *mem.Allocator, conn net.Conn) (mem.Buf, error) {
	s, err := a.TrySlab(4096)
	if err != nil {
		return mem.Buf{}, err
	}
	defer s.Release()
	n, err := conn.Read(s.Bytes())
	if n == 0 {
		return mem.Buf{}, err
	}
	return s.Cut(0, n), nil
}

func swapped(r *sluice.BufReader) error {
	b, err := r.ReadBuf(8)
	if err != nil {
		return err
	}
	rest := b.RetainedSlice(4, 8)
	b.Release()
	b = rest
	fmt.Println(b.Len())
	b.Release()
	return nil
}

func tags(d *flv.Decoder, p *live.Publisher) error {
	for {
		t, err := d.Next()
		if err != nil {
			return err
		}
		if t.Type == flv.TagScript || t.Payload.Len() == 0 {
			t.Release()
			continue
		}
		if err := p.Publish(live.Frame{Type: t.Type, Time: t.Time, Payload: t.Payload}); err != nil {
			return err
		}
	}
}

func messages(c *rtmp.Conn, video func(rtmp.Message)) error {
	for {
		m, err := c.ReadMessage()
		if err != nil {
			return err
		}
		switch m.Type {
		case rtmp.TypeVideo:
			video(m)
		case rtmp.TypeAudio:
			if err := c.WriteMessage(m); err != nil {
				return err
			}
		default:
			m.Release()
		}
	}
}

func looked(m *mem.Memory) (int, error) {
	defer m.Release()
	r := m.NewReader()
	n, err := r.ReadBE(4)
	if err != nil {
		return 0, err
	}
	for _, p := range m.Buffers {
		n += uint64(bytes.Count(p, []byte{0}))
	}
	return int(n), nil
}

func valid(bufs []mem.Buf) {
	for i := range bufs {
		if bufs[i].Valid() {
			bufs[i].Release()
		}
	}
	clear(bufs)
}

func (q *queue) close() {
	valid(q.list)
	q.list = nil
	if q.last.Valid() {
		q.last.Release()
	}
	for name, b := range q.names {
		b.Release()
		delete(q.names, name)
	}
}

type frame struct {
	kind byte
	body mem.Buf
}

func readFrame(r *sluice.BufReader) (f frame, err error) {
	if f.kind, err = r.ReadByte(); err != nil {
		return f, err
	}
	f.body, err = r.ReadFrame(2, binary.BigEndian, 0)
	return f, err
}

func (f *frame) release() {
	if f.body.Valid() {
		f.body.Release()
	}
}

func frames(r *sluice.BufReader, handle func(frame)) error {
	for {
		f, err := readFrame(r)
		if err != nil {
			return err
		}
		if f.kind == 0 {
			f.release()
			continue
		}
		handle(f)
	}
}

// A method value keeps its receiver by value: a Buf, a slice.

func methodValue(r *sluice.BufReader, measure func(func() int)) error {
	b, err := r.ReadFrame(4, binary.BigEndian, 1<<20)
	if err != nil {
		return err
	}
	measure(b.Len)
	defer b.Release()
	return nil
}

func methodValueOfParameter(b mem.Buf, measure func(func() []byte)) {
	measure(b.Bytes)
	b.Release()
}

// A select receives in one of its cases only.

func receives(ctx context.Context, in <-chan mem.Buf) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case b := <-in:
		b.Release()
		return nil
	}
}

type parcel struct {
	b   mem.Buf
	err error
}

func (p *parcel) release() error {
	if p.err != nil {
		if p.b.Valid() {
			p.b.Release()
		}
		return p.err
	}
	p.b.Release()
	return nil
}

func receivesParcel(ctx context.Context, in <-chan parcel) (int, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case p := <-in:
		return 1, p.release()
	}
}

func receivesFromTwo(ctx context.Context, in, more <-chan mem.Buf) error {
	select {
	case b := <-in:
		b.Release()
	case <-ctx.Done():
		return ctx.Err()
	case b := <-more:
		b.Release()
	}
	return nil
}

func receivesIfThere(in <-chan mem.Buf) bool {
	select {
	default:
		return false
	case b := <-in:
		b.Release()
	}
	return true
}

// nor does it send in another.

func sendsOrGivesUp(ctx context.Context, b mem.Buf, out chan<- mem.Buf) error {
	select {
	case <-ctx.Done():
		b.Release()
		return ctx.Err()
	case out <- b:
		return nil
	}
}

// A literal that is assigned to an element holds one reference.

func element(list []parcel, i int, a *mem.Allocator) {
	list[i] = parcel{b: a.Get(10)}
}

func elementAndCut(list []parcel, i int, a *mem.Allocator) []parcel {
	list[i] = parcel{
		b: a.Get(10),
	}
	return list[:i+1]
}

type parcels struct{ list []parcel }

func (p *parcels) set(i int, a *mem.Allocator) {
	p.list[i] = parcel{
		b: a.Get(10),
	}
	p.list = p.list[:i+1]
}

func (p *parcels) one(a *mem.Allocator) {
	*p = parcels{list: []parcel{{b: a.Get(1)}}}
}

// A channel that was closed gives nothing, in a select too.

func passesOn(in <-chan mem.Buf, out chan<- mem.Buf, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case b, ok := <-in:
			if !ok {
				return
			}
			select {
			case out <- b:
			default:
				b.Release()
			}
		}
	}
}

// What a message says beside its body is there after the body's release.
func answered(r *rtsp.Reader) (string, error) {
	it, err := r.Read()
	if err != nil {
		return "", err
	}
	q := it.Request
	if q == nil {
		it.Release()
		return "", errors.New("no request")
	}
	size := q.Body.Len()
	q.Body.Release()
	return fmt.Sprint(q.Method, q.Header.Get("CSeq"), size), nil
}

func cseq(it rtsp.Item) (string, string) {
	it.Response.Body.Release()
	return it.Response.Version, it.Response.Header.Get("CSeq")
}

// A condition that leads to the source is tested again behind it.
func (q *queue) sendNamed(w *sluice.BufWriter, name string) error {
	q.mu.Lock()
	b, ok := q.names[name]
	if ok {
		b = b.Retain()
	}
	q.mu.Unlock()
	if !ok {
		_, err := w.WriteString("none\n")
		return err
	}
	return w.WriteBuf(b)
}

func sendUnlessLate(w *sluice.BufWriter, b mem.Buf, late int) error {
	var own mem.Buf
	if late <= 3 {
		own = b.Retain()
	}
	if late > 3 {
		return nil
	}
	return w.WriteBuf(own)
}

var greeting = []byte("hello")

func wrapsPooled(w *sluice.BufWriter, pool *sync.Pool) error {
	p := pool.Get().([]byte)
	n := copy(p, greeting)
	if err := w.WriteBuf(mem.Wrap(p[:n], func() { pool.Put(p) })); err != nil {
		return err
	}
	return w.WriteBuf(mem.Wrap(greeting, nil))
}
