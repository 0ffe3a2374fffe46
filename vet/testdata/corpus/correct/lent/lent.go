// Package lent uses borrowed bytes as it should.
package lent

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/cloudwego/netpoll"
	"github.com/panjf2000/gnet/v2"
	"github.com/valyala/fasthttp"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/aio"
)

type conn struct {
	net.Conn
	br    *bufio.Reader
	r     *sluice.BufReader
	name  []byte
	title string
	seen  map[string]int
	last  [4]byte
}

// Read whole lines that may be longer than the buffer, as the standard library
// does.
func readLine(br *bufio.Reader) ([]byte, error) {
	var full []byte
	for {
		frag, err := br.ReadSlice('\n')
		if err == nil {
			if full == nil {
				return bytes.Clone(frag), nil
			}
			return append(full, frag...), nil
		}
		if err != bufio.ErrBufferFull {
			return nil, err
		}
		full = append(full, frag...)
	}
}

func (c *conn) login() error {
	line, err := c.br.ReadSlice('\n')
	if err != nil {
		return err
	}
	c.name = bytes.Clone(line)
	c.title = string(line)
	c.seen[string(line)]++
	copy(c.last[:], line)
	_, err = c.br.ReadByte()
	return err
}

func (c *conn) appended() error {
	line, err := c.r.ReadLineSlice()
	if err != nil {
		return err
	}
	c.name = append(c.name[:0], line...)
	return c.r.Skip(2)
}

// The length is taken out of the head before the body is asked for.
func frame(r *sluice.BufReader) ([]byte, error) {
	head, err := r.Next(4)
	if err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head)
	return r.Next(int(n))
}

// Peeked again in each round, into the same variable.
func wait(br *bufio.Reader, want int) ([]byte, error) {
	p, err := br.Peek(1)
	for err == nil && len(p) < want {
		p, err = br.Peek(min(want, br.Buffered()+1))
	}
	return p, err
}

func discardWhatWasPeeked(br *bufio.Reader) (string, error) {
	p, err := br.Peek(16)
	if err != nil {
		return "", err
	}
	br.Discard(len(p))
	return string(p), nil
}

func optimistic(br *bufio.Reader) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if br.Buffered() > 1 {
		if next, _ := br.Peek(2); len(next) > 0 && next[0] != ' ' {
			return line, nil
		}
	}
	return bytes.Clone(line), nil
}

func twoReaders(a, b *bufio.Reader) (bool, error) {
	x, err := a.ReadSlice('\n')
	if err != nil {
		return false, err
	}
	y, err := b.ReadSlice('\n')
	if err != nil {
		return false, err
	}
	return bytes.Equal(x, y), nil
}

func views(r *sluice.BufReader, line func([]byte)) error {
	for {
		if _, err := r.Peek(1); err != nil {
			return err
		}
		v := r.View()
		n := 0
		for {
			i := bytes.IndexByte(v[n:], '\n')
			if i < 0 {
				break
			}
			line(v[n : n+i])
			n += i + 1
		}
		r.Discard(n)
	}
}

func scan(r io.Reader) (map[string]string, error) {
	all := map[string]string{}
	for sc := bufio.NewScanner(r); sc.Scan(); {
		k, v, ok := bytes.Cut(sc.Bytes(), []byte("="))
		if !ok {
			return nil, errors.New("no equals sign")
		}
		all[string(k)] = string(v)
	}
	return all, nil
}

func longest(r io.Reader) []byte {
	var best []byte
	for sc := bufio.NewScanner(r); sc.Scan(); {
		if b := sc.Bytes(); len(b) > len(best) {
			best = append(best[:0], b...)
		}
	}
	return best
}

// The line ends with the function, as does its reader.
func first(r io.Reader) []byte {
	sc := bufio.NewScanner(r)
	sc.Scan()
	return sc.Bytes()
}

// A flag says that the line was copied.
func remembered(br *bufio.Reader, keep bool) (string, error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	if !keep {
		if _, err := br.ReadByte(); err != nil {
			return "", err
		}
	}
	if keep {
		return string(line), nil
	}
	return "", nil
}

func reset(br *bufio.Reader, conns []net.Conn) (n int, err error) {
	for _, c := range conns {
		br.Reset(c)
		line, err := br.ReadSlice('\n')
		if err != nil {
			return n, err
		}
		if bytes.HasPrefix(line, []byte("220")) {
			n++
		}
	}
	return n, nil
}

func collect(r *sluice.BufReader, n int) ([]byte, error) {
	all := make([]byte, 0, 64)
	sum := 0
	err := r.ReadRange(n, func(p []byte) {
		all = append(all, p...)
		for _, b := range p {
			sum += int(b)
		}
	})
	return all, err
}

func handOn(br *bufio.Reader, lines chan<- []byte) error {
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return err
		}
		lines <- bytes.Clone(line)
		go fmt.Println(string(line))
	}
}

// The goroutines are waited for before the line ends.
func both(br *bufio.Reader, sinks []io.Writer) error {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for _, w := range sinks {
		all.Go(func() { w.Write(line) })
	}
	all.Wait()
	_, err = br.ReadByte()
	return err
}

func untilReturn(br *bufio.Reader, sinks []io.Writer) error {
	var all sync.WaitGroup
	defer all.Wait()
	line, err := br.ReadSlice('\n')
	if err != nil {
		return err
	}
	for _, w := range sinks {
		all.Add(1)
		go func() {
			defer all.Done()
			w.Write(line)
		}()
	}
	return nil
}

type message struct {
	kind    string
	payload []byte
}

// The result is lent as a whole, and the error says when there is none.
func parse(r *sluice.BufReader, m *message) error {
	kind, err := r.ReadLine()
	if err != nil {
		return err
	}
	m.kind = kind
	p, err := r.Next(16)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	m.payload = append(m.payload[:0], p...)
	return nil
}

func number(br *bufio.Reader) (int, error) {
	digits, err := br.ReadSlice('\r')
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(digits[:len(digits)-1]))
	if _, skip := br.ReadByte(); err == nil {
		err = skip
	}
	return n, err
}

func recycled(c net.Conn) (string, error) {
	r := sluice.NewBufReader(c)
	defer r.Recycle()
	p, err := r.ReadSlice(' ')
	if err != nil {
		return "", err
	}
	return strings.ToUpper(string(p)), nil
}

func onTraffic(c gnet.Conn, jobs chan<- []byte) gnet.Action {
	for c.InboundBuffered() >= 4 {
		head, err := c.Peek(4)
		if err != nil {
			return gnet.None
		}
		n := int(binary.BigEndian.Uint32(head))
		body, err := c.Next(4 + n)
		if err != nil {
			return gnet.None
		}
		jobs <- append([]byte(nil), body[4:]...)
		c.Write(body)
	}
	return gnet.None
}

func onRequest(conn netpoll.Connection) error {
	r := conn.Reader()
	defer r.Release()
	head, err := r.Next(4)
	if err != nil {
		return err
	}
	body, err := r.Next(int(binary.BigEndian.Uint32(head)))
	if err != nil {
		return err
	}
	if head[0] != body[0] {
		return errors.New("head and body differ")
	}
	_, err = conn.Writer().WriteBinary(bytes.Clone(body))
	return err
}

func handler(hits map[string]int) func(*fasthttp.RequestCtx) {
	return func(ctx *fasthttp.RequestCtx) {
		hits[string(ctx.Path())]++
		token := string(ctx.QueryArgs().Peek("token"))
		go fmt.Println(token)
		ctx.Write(ctx.PostBody())
	}
}

// Results are looked at before the next WaitIO, and buffers handed to Write.
func loop(w *aio.Watcher) error {
	for {
		results, err := w.WaitIO()
		for i := range results {
			r := &results[i]
			if r.Error != nil || r.Operation == aio.OpWrite {
				w.Free(r.Conn)
				continue
			}
			w.Write(r.Context, r.Conn, r.Buffer[:r.Size])
		}
		if err != nil {
			return err
		}
	}
}

// Method values and method expressions are calls of the method.

func byMethodValue(r *bufio.Reader) (byte, error) {
	peek := r.Peek
	p, err := peek(4)
	if err != nil {
		return 0, err
	}
	c := p[0]
	_, err = r.Discard(4)
	return c, err
}

func byMethodExpression(r *bufio.Reader) (byte, error) {
	peek, discard := (*bufio.Reader).Peek, (*bufio.Reader).Discard
	p, err := peek(r, 4)
	if err != nil {
		return 0, err
	}
	c := p[0]
	_, err = discard(r, 4)
	return c, err
}

func twoReadersByMethodExpression(a, b *bufio.Reader) bool {
	peek := (*bufio.Reader).Peek
	p, err := peek(a, 4)
	if err != nil {
		return false
	}
	q, err := peek(b, 4)
	return err == nil && bytes.Equal(p, q)
}
