// Package users has faults in the manner of programs that people write around
// these libraries: parsers, caches, brokers, log shippers.
package users

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

type pairKV struct{ key, value []byte }

// The pieces of each line in a list of structs.
func parsePairs(r io.Reader) []pairKV {
	var all []pairKV
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		line := sc.Bytes()
		i := bytes.IndexByte(line, '=')
		if i < 0 {
			continue
		}
		all = append(all, pairKV{key: line[:i], value: line[i+1:]})
	}
	return all // want `returned after Scanner.Scan`
}

func parseFields(r io.Reader) map[string][]byte {
	m := make(map[string][]byte)
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		f := bytes.Fields(sc.Bytes())
		if len(f) == 2 {
			m[string(f[0])] = f[1]
		}
	}
	return m // want `returned after Scanner.Scan`
}

func events(r io.Reader) (list []json.RawMessage, err error) {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		if !json.Valid(sc.Bytes()) {
			return nil, errors.New("not JSON")
		}
		list = append(list, json.RawMessage(sc.Bytes()))
	}
	return list, sc.Err() // want `returned after Scanner.Scan`
}

func asString(br *bufio.Reader) (string, error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	name := unsafe.String(&line[0], len(line))
	if _, err := br.ReadSlice('\n'); err != nil {
		return "", err
	}
	return name, nil // want `returned after Reader.ReadSlice`
}

func asStringOld(br *bufio.Reader) (string, error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	name := *(*string)(unsafe.Pointer(&line))
	if _, err := br.ReadSlice('\n'); err != nil {
		return "", err
	}
	return name, nil // want `returned after Reader.ReadSlice`
}

var slices = sync.Pool{New: func() any { b := make([]byte, 4096); return &b }}

func getSlice() *[]byte  { return slices.Get().(*[]byte) }
func putSlice(b *[]byte) { *b = (*b)[:0]; slices.Put(b) }

func pooledSlice(w io.Writer, v fmt.Stringer) error {
	bp := getSlice()
	b := append((*bp)[:0], v.String()...)
	putSlice(bp)
	_, err := w.Write(b) // want `used after users.putSlice`
	return err
}

func pooledSliceReturned(v fmt.Stringer) []byte {
	bp := getSlice()
	defer putSlice(bp)
	b := append((*bp)[:0], v.String()...)
	return b // want `returned after users.putSlice`
}

func pooledInGoroutine(conn net.Conn, v any) error {
	b := getBuffer()
	defer putBuffer(b)
	if err := json.NewEncoder(b).Encode(v); err != nil {
		return err
	}
	go func() { // want `stored in a goroutine`
		_, _ = conn.Write(b.Bytes())
	}()
	return nil
}

func pooledToChannel(out chan<- []byte, v any) error {
	b := getBuffer()
	defer putBuffer(b)
	if err := json.NewEncoder(b).Encode(v); err != nil {
		return err
	}
	out <- b.Bytes() // want `stored in a channel`
	return nil
}

type cache struct {
	mu    sync.Mutex
	items map[string][]byte
	last  []byte
}

func (c *cache) put(key string, v any) error {
	b := getBuffer()
	defer putBuffer(b)
	if err := json.NewEncoder(b).Encode(v); err != nil {
		return err
	}
	c.mu.Lock()
	c.items[key] = b.Bytes() // want `stored in a map`
	c.mu.Unlock()
	return nil
}

func (c *cache) putLast(v any) error {
	b := getBuffer()
	defer putBuffer(b)
	if err := json.NewEncoder(b).Encode(v); err != nil {
		return err
	}
	c.last = b.Bytes() // want `stored in the field last`
	return nil
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func getBuffer() *bytes.Buffer  { return buffers.Get().(*bytes.Buffer) }
func putBuffer(b *bytes.Buffer) { b.Reset(); buffers.Put(b) }

type msg struct {
	id   int
	body []byte
}

var msgs sync.Pool

func newMsg() *msg {
	if m, ok := msgs.Get().(*msg); ok {
		return m
	}
	return new(msg)
}

func (m *msg) free() {
	m.body = m.body[:0]
	msgs.Put(m)
}

func handle(r io.Reader, log func(int)) error {
	m := newMsg()
	n, err := r.Read(m.body[:cap(m.body)])
	m.body = m.body[:n]
	m.free()
	log(m.id) // want `used after msg.free`
	return err
}

func handleTwice(r io.Reader) error {
	m := newMsg()
	defer m.free() // want `released twice`
	if _, err := r.Read(m.body); err != nil {
		m.free()
		return err
	}
	return nil
}

// A broker's fan-out without a reference for each subscriber.
func fanOut(b mem.Buf, subs []chan mem.Buf) { // want `not on this one`
	for _, s := range subs {
		s <- b // want `used after it was transferred`
	}
}

func fanOutTry(r *sluice.BufReader, subs []chan mem.Buf) error {
	b, err := r.ReadBuf(8)
	if err != nil {
		return err
	}
	for _, s := range subs {
		select {
		case s <- b.Retain(): // want `not released`
		default:
		}
	}
	b.Release()
	return nil
}

func shadowed(r *sluice.BufReader) (int, error) {
	b, err := r.ReadBuf(4)
	if err != nil {
		return 0, err
	}
	defer b.Release()
	if b.Bytes()[0] == 1 {
		b, err := r.ReadBuf(8) // want `not released`
		if err != nil {
			return 0, err
		}
		return b.Len(), nil
	}
	return 4, nil
}

func cleanUpTwice(r *sluice.BufReader, check func([]byte) error) (err error) {
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
		b.Release() // want-miss
		return err
	}
	b.Release()
	return nil
}

func cleanUpOnErrorOnly(r *sluice.BufReader, check func([]byte) error) (err error) {
	b, err := r.ReadBuf(4) // want-miss
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			b.Release()
		}
	}()
	return check(b.Bytes())
}

func cancelled(ctx context.Context, r *sluice.BufReader, out chan<- mem.Buf) error {
	for {
		b, err := r.ReadBuf(64) // want `not released`
		if err != nil {
			return err
		}
		select {
		case out <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func inGroup(r *sluice.BufReader, work func([]byte) error) error {
	var g errgroup.Group
	for {
		p, err := r.ReadLineSlice()
		if err != nil {
			break
		}
		g.Go(func() error { return work(p) }) // want `stored in Group.Go`
	}
	return g.Wait()
}

func bothRelease(r *sluice.BufReader, work func([]byte)) error {
	b, err := r.ReadBuf(64)
	if err != nil {
		return err
	}
	defer b.Release() // want `used after it was transferred`
	go func() {
		defer b.Release()
		work(b.Bytes())
	}()
	return nil
}

func usedInGoroutine(r *sluice.BufReader, work func([]byte)) error {
	b, err := r.ReadBuf(64)
	if err != nil {
		return err
	}
	defer b.Release()
	go work(b.Bytes()) // want `stored in a goroutine`
	return nil
}

func usedInGoroutineLiteral(r *sluice.BufReader, work func([]byte)) error {
	b, err := r.ReadBuf(64)
	if err != nil {
		return err
	}
	defer b.Release()
	go func() { // want `stored in a goroutine`
		work(b.Bytes())
	}()
	return nil
}

func viewKept(c *cache, r *sluice.BufReader) error {
	b, err := r.ReadBuf(64)
	if err != nil {
		return err
	}
	defer b.Release()
	c.last = b.Bytes() // want `stored in the field last`
	return nil
}

func viewInMap(c *cache, r *sluice.BufReader) error {
	b, err := r.ReadBuf(64)
	if err != nil {
		return err
	}
	p := b.Bytes()
	c.items[string(p[:8])] = p[8:] // want `stored in a map`
	b.Release()
	return nil
}

func viewSent(out chan<- []byte, r *sluice.BufReader) error {
	b, err := r.ReadBuf(64)
	if err != nil {
		return err
	}
	out <- b.Bytes() // want `stored in a channel`
	b.Release()
	return nil
}

func retryLoop(r *sluice.BufReader, send func([]byte) error) error {
	for range 3 {
		b, err := r.ReadBuf(16) // want `not released`
		if err != nil {
			return err
		}
		if err := send(b.Bytes()); err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		b.Release()
	}
	return nil
}

func switchCase(r *sluice.BufReader, w *sluice.BufWriter) error {
	b, err := r.ReadBuf(16) // want `not released`
	if err != nil {
		return err
	}
	switch b.Bytes()[0] {
	case 1:
		return w.WriteBuf(b)
	case 2:
		b.Release()
		return nil
	case 3:
		fmt.Fprintln(os.Stderr, "three")
		return nil
	}
	b.Release()
	return nil
}

type frame struct {
	kind byte
	data mem.Buf
}

func readFrame(r *sluice.BufReader) (frame, error) {
	b, err := r.ReadBuf(16)
	if err != nil {
		return frame{}, err
	}
	return frame{b.Bytes()[0], b}, nil
}

func frameDropped(r *sluice.BufReader) (byte, error) {
	f, err := readFrame(r) // want `not released`
	if err != nil {
		return 0, err
	}
	return f.kind, nil
}

func frameTwice(r *sluice.BufReader, w *sluice.BufWriter) error {
	f, err := readFrame(r)
	if err != nil {
		return err
	}
	defer f.data.Release() // want `used after it was transferred`
	return w.WriteBuf(f.data)
}

func twoLines(sc *bufio.Scanner) bool {
	var lines [2][]byte
	for i := range lines {
		if !sc.Scan() {
			return false
		}
		lines[i] = sc.Bytes()
	}
	return bytes.Equal(lines[0], lines[1]) // want `used after Scanner.Scan`
}

type lexer struct {
	br  *bufio.Reader
	tok []byte
}

func (l *lexer) next() (err error) {
	l.tok, err = l.br.ReadSlice(' ') // want `stored in the field tok`
	return err
}

func (l *lexer) number() (n int, err error) {
	p, err := l.br.Peek(1)
	for err == nil && p[0] >= '0' && p[0] <= '9' {
		if _, err = l.br.ReadByte(); err != nil {
			break
		}
		n = n*10 + int(p[0]-'0') // want `used after Reader.ReadByte`
		p, err = l.br.Peek(1)
	}
	return n, err
}

func (l *lexer) line() ([]byte, error) {
	line, more, err := l.br.ReadLine()
	for more && err == nil {
		var rest []byte
		rest, more, err = l.br.ReadLine()
		line = append(line, rest...) // want `used after Reader.ReadLine`
	}
	return line, err // want `returned after Reader.ReadLine`
}

func (l *lexer) comment() ([]byte, error) {
	p, err := l.br.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if err := l.skipSpace(); err != nil {
		return nil, err
	}
	return p, nil // want `returned after lexer.skipSpace`
}

// The reader is left behind, but has read on.
func (l *lexer) lastLine(r io.Reader) error {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		l.tok = sc.Bytes() // want `stored in the field tok`
	}
	return sc.Err()
}

func (l *lexer) skipSpace() error {
	for {
		c, err := l.br.ReadByte()
		if err != nil {
			return err
		}
		if c != ' ' {
			return l.br.UnreadByte()
		}
	}
}

func deferredInLoop(r *sluice.BufReader, w io.Writer) error {
	for {
		b, err := r.ReadBuf(16) // want `not released`
		if err != nil {
			return err
		}
		if _, err := w.Write(b.Bytes()); err != nil {
			return err
		}
		b.Release()
	}
}

func echo(w *aio.Watcher) error {
	var pending []aio.OpResult
	for {
		results, err := w.WaitIO()
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Operation == aio.OpRead {
				pending = append(pending, r)
			}
		}
		if len(pending) > 100 {
			for _, r := range pending {
				_ = w.Write(nil, r.Conn, r.Buffer[:r.Size]) // want `used after Watcher.WaitIO`
			}
			pending = pending[:0]
		}
	}
}

type pool[T any] struct{ p sync.Pool }

func (p *pool[T]) get() T  { return p.p.Get().(T) }
func (p *pool[T]) put(v T) { p.p.Put(v) }

var generic pool[*bytes.Buffer]

func genericPool(v any) []byte {
	b := generic.get()
	defer generic.put(b)
	_ = json.NewEncoder(b).Encode(v)
	return b.Bytes() // want `returned after pool`
}

func genericPoolUse(v any) int {
	b := generic.get()
	_ = json.NewEncoder(b).Encode(v)
	generic.put(b)
	return b.Len() // want `used after pool`
}

type writer struct {
	buf  *bytes.Buffer
	pool *sync.Pool
}

func (w *writer) close() {
	w.pool.Put(w.buf)
}

func (w *writer) finish(out io.Writer) error {
	w.close()
	_, err := out.Write(w.buf.Bytes()) // want `used after writer.close`
	return err
}

func (w *writer) finishTwice(out io.Writer) error {
	defer w.close() // want `released twice`
	if _, err := out.Write(w.buf.Bytes()); err != nil {
		w.close()
		return err
	}
	return nil
}

func swapBuffers(a *mem.Allocator, r io.Reader) (int, error) {
	b, err := a.TryGet(64) // want `not released`
	if err != nil {
		return 0, err
	}
	n, err := r.Read(b.Bytes())
	if err != nil {
		b.Release()
		return 0, err
	}
	b, err = a.TryGet(n)
	if err != nil {
		return 0, err
	}
	b.Release()
	return n, nil
}

func memoryLost(r *sluice.BufReader) (byte, error) {
	m, err := r.ReadBytes(8) // want `not released`
	if err != nil {
		return 0, err
	}
	if m.Size != 8 {
		return 0, io.ErrUnexpectedEOF
	}
	part := m.RetainedSlice(2, 4)
	m.Release()
	defer part.Release()
	return part.Bytes()[0], nil
}
