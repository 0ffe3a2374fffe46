// Package users does what programs around these libraries do, as it should be done:
// parsers, caches, brokers, log shippers.
package users

import (
	"bufio"
	"bytes"
	"container/list"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

type pairKV struct{ key, value string }

func parsePairs(r io.Reader) (all []pairKV, err error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), 1<<20)
	for sc.Scan() {
		line := bytes.TrimSpace(sc.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		k, v, ok := bytes.Cut(line, []byte{'='})
		if !ok {
			return nil, fmt.Errorf("%q has no equals sign", line)
		}
		all = append(all, pairKV{string(k), string(v)})
	}
	return all, sc.Err()
}

// One list of pieces for all lines, filled anew for each.
func table(r io.Reader, row func([][]byte) error) error {
	sc := bufio.NewScanner(r)
	var cells [][]byte
	for sc.Scan() {
		cells = cells[:0]
		for rest := sc.Bytes(); len(rest) > 0; {
			var cell []byte
			cell, rest, _ = bytes.Cut(rest, []byte{','})
			cells = append(cells, cell)
		}
		if err := row(cells); err != nil {
			return err
		}
	}
	return sc.Err()
}

func counts(r io.Reader) map[string]int {
	m := map[string]int{}
	sc := bufio.NewScanner(r)
	sc.Split(bufio.ScanWords)
	for sc.Scan() {
		m[string(bytes.ToLower(sc.Bytes()))]++
	}
	return m
}

func arena(r io.Reader) (lines [][]byte) {
	var room []byte
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		n := len(room)
		room = append(room, sc.Bytes()...)
		lines = append(lines, room[n:len(room):len(room)])
	}
	return lines
}

func unique(r io.Reader) (n int) {
	var last []byte
	for sc := bufio.NewScanner(r); sc.Scan(); {
		if !bytes.Equal(sc.Bytes(), last) {
			n++
		}
		last = append(last[:0], sc.Bytes()...)
	}
	return n
}

type record struct {
	ID   int             `json:"id"`
	Body json.RawMessage `json:"body"`
}

func records(r io.Reader) (all []record, err error) {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		var rec record
		if err := json.Unmarshal(sc.Bytes(), &rec); err != nil {
			return nil, err
		}
		all = append(all, rec)
	}
	return all, sc.Err()
}

func hexLines(br *bufio.Reader, out chan<- string) {
	for {
		line, isPrefix, err := br.ReadLine()
		if err != nil || isPrefix {
			return
		}
		out <- hex.EncodeToString(line)
	}
}

// A line that is longer than the buffer is put together.
func longLine(br *bufio.Reader) ([]byte, error) {
	line, more, err := br.ReadLine()
	if err != nil {
		return nil, err
	}
	if !more {
		return line, nil
	}
	full := append([]byte(nil), line...)
	for more && err == nil {
		line, more, err = br.ReadLine()
		full = append(full, line...)
	}
	return full, err
}

func number(br *bufio.Reader) (n int, err error) {
	for {
		p, err := br.Peek(1)
		if err != nil {
			return n, err
		}
		if p[0] < '0' || p[0] > '9' {
			return n, nil
		}
		n = n*10 + int(p[0]-'0')
		if _, err := br.Discard(1); err != nil {
			log.Fatal(err)
		}
	}
}

func protocol(br *bufio.Reader) (func(*bufio.Reader) error, error) {
	head, err := br.Peek(4)
	if err != nil && len(head) == 0 {
		return nil, err
	}
	switch {
	case bytes.Equal(head, []byte("GET ")):
		return http, nil
	case head[0] == 3:
		return func(r *bufio.Reader) error { return rtmpLike(r, 3) }, nil
	}
	return nil, fmt.Errorf("unknown protocol %q", head)
}

func http(*bufio.Reader) error          { return nil }
func rtmpLike(*bufio.Reader, int) error { return nil }

type lexer struct {
	br  *bufio.Reader
	tok []byte
	err error
}

func (l *lexer) next() bool {
	l.tok = l.tok[:0]
	for {
		part, err := l.br.ReadSlice(' ')
		l.tok = append(l.tok, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			l.err = err
			return err == nil
		}
	}
}

func (l *lexer) keyword() (string, error) {
	p, err := l.br.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	switch string(p) {
	case "on\n":
		return "on", l.rest()
	case "off\n":
		return "off", l.rest()
	}
	word := string(p[:len(p)-1])
	if err := l.rest(); err != nil {
		return "", fmt.Errorf("after %s: %w", word, err)
	}
	return word, nil
}

func (l *lexer) rest() error {
	_, err := l.br.ReadString('\n')
	return err
}

// The reader is left behind, and what it has lent with it.
func (l *lexer) rests(r io.Reader) error {
	br := bufio.NewReader(r)
	if _, err := br.ReadString('\n'); err != nil {
		return err
	}
	l.tok, l.err = br.Peek(br.Buffered())
	return nil
}

func chunked(br *bufio.Reader, w io.Writer) error {
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil || n == 0 {
			return err
		}
		if _, err := io.CopyN(w, br, n); err != nil {
			return err
		}
		if line, err = br.ReadSlice('\n'); err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return errors.New("no end of line")
		}
	}
}

type pool[T any] struct {
	p    sync.Pool
	make func() T
}

func (p *pool[T]) get() T {
	if v, ok := p.p.Get().(T); ok {
		return v
	}
	return p.make()
}

func (p *pool[T]) put(v T) { p.p.Put(v) }

var generic = pool[*bytes.Buffer]{make: func() *bytes.Buffer { return new(bytes.Buffer) }}

func genericPool(w io.Writer, v any) error {
	b := generic.get()
	defer func() {
		b.Reset()
		generic.put(b)
	}()
	if err := json.NewEncoder(b).Encode(v); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

var slices = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

func appendTo(dst []byte, v fmt.Stringer) []byte {
	bp := slices.Get().(*[]byte)
	b := append((*bp)[:0], v.String()...)
	dst = append(dst, b...)
	*bp = b
	slices.Put(bp)
	return dst
}

// A buffer that has grown too large is not put back.
func bounded(v any) (string, error) {
	bp := slices.Get().(*[]byte)
	b, err := json.Marshal(v)
	*bp = append((*bp)[:0], b...)
	s := string(*bp)
	if cap(*bp) <= 64<<10 {
		slices.Put(bp)
	}
	return s, err
}

type msg struct {
	body []byte
	next *msg
	refs atomic.Int32
}

var msgs = sync.Pool{New: func() any { return new(msg) }}

func (m *msg) free() {
	if m.refs.Add(-1) == 0 {
		m.body, m.next = m.body[:0], nil
		msgs.Put(m)
	}
}

func broadcast(body []byte, to []chan *msg) {
	m := msgs.Get().(*msg)
	m.body = append(m.body, body...)
	m.refs.Store(int32(len(to)) + 1)
	for _, c := range to {
		c <- m
	}
	m.free()
}

func freeAll(m *msg) {
	for m != nil {
		next := m.next
		m.free()
		m = next
	}
}

// The one that goes into the list is not put back.
func queued(l *list.List, body []byte) {
	m := msgs.Get().(*msg)
	if len(body) == 0 {
		msgs.Put(m)
		return
	}
	m.body = append(m.body, body...)
	l.PushBack(m)
}

type encoder struct {
	buf *bytes.Buffer
	w   io.Writer
}

func (e *encoder) begin() { e.buf = generic.get() }

func (e *encoder) end() error {
	_, err := e.w.Write(e.buf.Bytes())
	e.buf.Reset()
	generic.put(e.buf)
	e.buf = nil
	return err
}

func (e *encoder) encode(v any) error {
	e.begin()
	if err := json.NewEncoder(e.buf).Encode(v); err != nil {
		return errors.Join(err, e.end())
	}
	return e.end()
}

func asyncWrite(conn net.Conn, v any) error {
	b := generic.get()
	if err := json.NewEncoder(b).Encode(v); err != nil {
		generic.put(b)
		return err
	}
	go func() {
		defer generic.put(b)
		_, _ = conn.Write(b.Bytes())
	}()
	return nil
}

func joined(conns []net.Conn, v any) error {
	b := generic.get()
	defer generic.put(b)
	if err := json.NewEncoder(b).Encode(v); err != nil {
		return err
	}
	var g errgroup.Group
	for _, c := range conns {
		g.Go(func() error {
			_, err := c.Write(b.Bytes())
			return err
		})
	}
	return g.Wait()
}

func joinedByChannel(conn net.Conn, v any) error {
	b := generic.get()
	defer generic.put(b)
	done := make(chan error, 1)
	go func() {
		_, err := conn.Write(b.Bytes())
		done <- err
	}()
	return <-done
}
