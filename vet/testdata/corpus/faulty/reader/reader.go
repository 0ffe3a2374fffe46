// Package reader misuses what a sluice.BufReader lends.
package reader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/sluice-go/sluice"
)

type session struct {
	r      *sluice.BufReader
	w      *sluice.BufWriter
	user   []byte
	nonce  [][]byte
	topics map[string][]byte
}

// The head is looked at after the body was asked for.
func frame(r *sluice.BufReader) (kind byte, body []byte, err error) {
	head, err := r.Next(5)
	if err != nil {
		return 0, nil, err
	}
	body, err = r.Next(int(binary.BigEndian.Uint32(head)))
	if err != nil {
		return 0, nil, err
	}
	return head[4], body, nil // want `used after BufReader.Next`
}

func version(r *sluice.BufReader) error {
	p, err := r.Peek(2)
	if err != nil {
		return err
	}
	r.Discard(2)
	if _, err := r.ReadBE(2); err != nil {
		return err
	}
	if p[0] != 1 { // want `used after BufReader.Discard`
		return errors.New("version")
	}
	return nil
}

func (s *session) login() error {
	line, err := s.r.ReadLineSlice()
	if err != nil {
		return err
	}
	s.user = bytes.TrimPrefix(line, []byte("USER ")) // want `stored in the field user`
	return s.w.Flush()
}

func (s *session) handshake() error {
	p, err := s.r.Next(32)
	if err != nil {
		return err
	}
	s.nonce = append(s.nonce, p) // want `stored in the field nonce`
	return nil
}

func (s *session) subscribe() error {
	name, err := s.r.ReadSlice(0)
	if err != nil {
		return err
	}
	s.topics["latest"] = name // want `stored in a map`
	return nil
}

func views(r *sluice.BufReader) (n int, err error) {
	v := r.View()
	for len(v) > 0 {
		i := bytes.IndexByte(v, '\n') // want `used after BufReader.Peek`
		if i < 0 {
			if _, err := r.Peek(len(v) + 1); err != nil {
				return n, err
			}
			continue
		}
		n++
		v = v[i+1:]
	}
	return n, nil
}

func viewAfterPeek(r *sluice.BufReader) ([]byte, error) {
	v := r.View()
	if len(v) < 4 {
		if _, err := r.Peek(4); err != nil {
			return nil, err
		}
	}
	if v[0] != 'S' { // want `used after BufReader.Peek`
		return nil, io.ErrUnexpectedEOF
	}
	return nil, nil
}

// The reader's memory goes back when the function returns.
func once(conn net.Conn) ([]byte, error) {
	r := sluice.NewBufReader(conn)
	defer r.Recycle()
	return r.ReadLineSlice() // want `returned after BufReader.Recycle`
}

func greeting(conn net.Conn) (string, []byte, error) {
	r := sluice.NewBufReader(conn)
	defer func() { r.Recycle() }()
	name, err := r.ReadSlice(' ')
	if err != nil {
		return "", nil, err
	}
	return "hello", name, nil // want `returned after`
}

func both(a, b *sluice.BufReader) (bool, error) {
	x, err := a.Next(16)
	if err != nil {
		return false, err
	}
	y, err := b.Next(16)
	if err != nil {
		return false, err
	}
	if err := a.Skip(4); err != nil {
		return false, err
	}
	return bytes.Equal(x, y), nil // want `used after BufReader.Skip`
}

func nested(r *sluice.BufReader) bool {
	next := func() []byte {
		p, _ := r.Next(4)
		return p
	}
	return bytes.Equal(next(), next()) // want `used after`
}

func tail(r *sluice.BufReader, w io.Writer) error {
	mark, err := r.Peek(4)
	if err != nil {
		return err
	}
	if _, err := r.WriteTo(w); err != nil {
		return fmt.Errorf("after %x: %w", mark, err) // want `used after BufReader.WriteTo`
	}
	return nil
}

func chunks(r *sluice.BufReader, n int) ([][]byte, error) {
	var parts [][]byte
	err := r.ReadRange(n, func(p []byte) {
		parts = append(parts, p) // want `stored in the captured variable parts`
	})
	return parts, err
}

func lastChunk(r *sluice.BufReader, n int) (last []byte, err error) {
	err = r.ReadRange(n, func(p []byte) {
		last = p[max(0, len(p)-4):] // want `stored in the captured variable last`
	})
	return last, err
}

func chunksToChannel(r *sluice.BufReader, n int, to chan<- []byte) error {
	return r.ReadRange(n, func(p []byte) {
		to <- p // want `stored in a channel`
	})
}

func hash(r *sluice.BufReader, n int, sum func([]byte)) error {
	return r.ReadRange(n, func(p []byte) {
		go sum(p) // want `stored in a goroutine`
	})
}

type header struct {
	name, value []byte
}

func headers(r *sluice.BufReader) ([]header, error) {
	var list []header
	for {
		line, err := r.ReadLineSlice()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			return list, nil // want `returned after BufReader.ReadLineSlice`
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		list = append(list, header{name, value})
	}
}

func retry(r *sluice.BufReader) (int, error) {
	p, err := r.Peek(4)
	for err != nil {
		if !errors.Is(err, sluice.ErrShort) {
			return 0, err
		}
		_, err = r.Peek(4)
	}
	return int(p[3]), nil // want `used after BufReader.Peek`
}

func rollback(r *sluice.BufReader) (byte, error) {
	r.Mark()
	p, err := r.Next(8)
	if err != nil {
		r.Rollback()
		return 0, err
	}
	if p[7] == 0 {
		r.Unmark()
	} else {
		r.Rollback()
	}
	return p[0], nil // want `used after BufReader.(Rollback|Unmark)`
}

func reset(r *sluice.BufReader, conns []net.Conn) (n int) {
	for _, c := range conns {
		r.Reset(c)
		banner, err := r.ReadLineSlice()
		if err != nil {
			continue
		}
		r.Reset(nil)
		if bytes.Contains(banner, []byte("SSH")) { // want `used after BufReader.Reset`
			n++
		}
	}
	return n
}

func keepInClosure(r *sluice.BufReader, later *[]func()) error {
	p, err := r.Next(3)
	if err != nil {
		return err
	}
	*later = append(*later, func() { fmt.Printf("%x\n", p) }) // want `stored in`
	return nil
}

func (s *session) deferred() (err error) {
	p, err := s.r.Next(3)
	if err != nil {
		return err
	}
	defer func() { fmt.Println(string(p)) }() // want `used after BufReader.Next`
	_, err = s.r.Next(3)
	return err
}

func detach(r *sluice.BufReader) (byte, error) {
	p, err := r.Peek(1)
	if err != nil {
		return 0, err
	}
	rest, _ := r.Detach()
	rest.Release()
	return p[0], nil // want `used after BufReader.Detach`
}

func fed(r *sluice.BufReader, more []byte) (bool, error) {
	v := r.View()
	if err := r.FeedCopy(more); err != nil {
		return false, err
	}
	return bytes.HasPrefix(v, []byte("PING")), nil // want `used after BufReader.FeedCopy`
}

func ioCopy(r *sluice.BufReader, w io.Writer) (bool, error) {
	p, err := r.Peek(8)
	if err != nil {
		return false, err
	}
	if _, err := io.CopyN(w, r, 100); err != nil {
		return false, err
	}
	return p[0] == 'x', nil // want `used after io.CopyN`
}
