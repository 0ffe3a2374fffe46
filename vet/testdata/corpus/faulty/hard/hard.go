// Package hard has faults that cross what one function shows: fields, lists,
// interfaces, two names for one thing. want-miss marks those that are not found.
package hard

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

type session struct {
	*bufio.ReadWriter
	r       *sluice.BufReader
	w       *sluice.BufWriter
	cur     mem.Buf
	pending []mem.Buf
	sink    interface{ Accept(mem.Buf) error }
	source  interface{ Line() ([]byte, error) }
	mu      sync.Mutex
}

// The reference before is forgotten.
func (s *session) next() (err error) {
	s.cur, err = s.r.ReadBuf(16) // want-miss
	return err
}

// A list is dropped with what is in it.
func (s *session) clear() {
	s.pending = nil // want-miss
}

func (s *session) popped() int {
	b := s.pending[0]
	s.pending = s.pending[1:]
	return b.Len() // want-miss
}

// The embedded reader under both of its names.
func (s *session) embedded() (bool, error) {
	line, err := s.ReadSlice('\n')
	if err != nil {
		return false, err
	}
	if _, err := s.Reader.ReadByte(); err != nil {
		return false, err
	}
	return line[0] == '+', nil // want `used after Reader.ReadByte`
}

// A textproto.Reader reads from the same buffer.
func wrapped(br *bufio.Reader) (bool, error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return false, err
	}
	if _, err := textproto.NewReader(br).ReadMIMEHeader(); err != nil {
		return false, err
	}
	return bytes.HasPrefix(line, []byte("GET")), nil // want-miss
}

func asInterface(br *bufio.Reader, r io.Reader) (byte, error) {
	p, err := br.Peek(1)
	if err != nil {
		return 0, err
	}
	r = br
	var one [1]byte
	if _, err := r.Read(one[:]); err != nil {
		return 0, err
	}
	return p[0], nil // want `used after Reader.Read`
}

// What an interface returns is lent too, but nothing says so.
func (s *session) lines() (bool, error) {
	a, err := s.source.Line()
	if err != nil {
		return false, err
	}
	b, err := s.source.Line()
	return bytes.Equal(a, b), err // want-miss
}

// The method takes the reference, as its implementations say.
func (s *session) accepted(b mem.Buf) error {
	if err := s.sink.Accept(b); err != nil {
		return fmt.Errorf("%d bytes: %w", b.Len(), err) // want-miss
	}
	return nil
}

func aliases(r *sluice.BufReader) (byte, error) {
	both := []*sluice.BufReader{r}
	p, err := r.Next(4)
	if err != nil {
		return 0, err
	}
	if err := both[0].Skip(1); err != nil {
		return 0, err
	}
	return p[0], nil // want-miss
}

func inMap(r *sluice.BufReader) error {
	all := map[byte]mem.Buf{}
	for {
		b, err := r.ReadFrame(2, binary.BigEndian, 0)
		if err != nil {
			return err // want-miss
		}
		all[b.Bytes()[0]] = b
	}
}

func halfOfThem(r *sluice.BufReader, n int) error {
	var list []mem.Buf
	for range n {
		b, err := r.ReadBuf(8)
		if err != nil {
			return err // want-miss
		}
		list = append(list, b)
	}
	for i := range list {
		list[i].Release()
	}
	return nil
}

func secondInLoop(list []mem.Buf) {
	for i := range list {
		list[i].Release()
	}
	list[0].Release() // want-miss
}

func ranged(m *mem.Memory, parts func(*mem.Memory) func(func([]byte) bool)) (n int) {
	for p := range parts(m) {
		n += len(p)
		m.Release() // want-miss
	}
	return n
}

func stored(r *sluice.BufReader) (func() byte, error) {
	b, err := r.ReadBuf(1)
	if err != nil {
		return nil, err
	}
	release := func() { b.Release() }
	release()
	return func() byte { return b.Bytes()[0] }, nil // want `returned after`
}

func (s *session) locked(b mem.Buf) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) > 10 {
		return errors.New("full") // want-miss
	}
	s.pending = append(s.pending, b)
	return nil
}

// keep takes b, transferred, and forgets it when the list is full.
func (s *session) keep(b mem.Buf) error {
	if len(s.pending) > 10 {
		return errors.New("full") // want `is transferred to this function`
	}
	s.pending = append(s.pending, b)
	return nil
}
