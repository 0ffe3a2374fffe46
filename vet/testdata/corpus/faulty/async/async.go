// Package async keeps what a watcher lends until the next WaitIO.
package async

import (
	"bytes"
	"context"
	"fmt"
	"net"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

type server struct {
	w    *aio.Watcher
	last *aio.OpResult
	all  []aio.OpResult
	seen map[net.Conn][]byte
}

func (s *server) across() error {
	results, err := s.w.WaitIO()
	if err != nil {
		return err
	}
	more, err := s.w.WaitIO()
	if err != nil {
		return err
	}
	for i := range results {
		fmt.Println(results[i].Size, len(more)) // want `used after Watcher.WaitIO`
	}
	return nil
}

func (s *server) keeps() error {
	results, err := s.w.WaitIO()
	if err != nil {
		return err
	}
	s.all = results // want `stored in the field all`
	return nil
}

func (s *server) keepsOne() error {
	results, err := s.w.WaitIO()
	for i := range results {
		if r := &results[i]; r.Error != nil {
			s.last = r // want `stored in the field last`
		}
	}
	return err
}

func (s *server) spawn() error {
	for {
		results, err := s.w.WaitIO()
		if err != nil {
			return err
		}
		for i := range results {
			go s.handle(&results[i]) // want `stored in a goroutine`
		}
	}
}

func (s *server) handle(r *aio.OpResult) { s.w.Write(nil, r.Conn, r.Buffer[:r.Size]) }

func (s *server) swap() error {
	results, err := s.w.WaitIO()
	for _, r := range results {
		if r.IsSwapBuffer {
			s.seen[r.Conn] = r.Buffer // want `stored in a map`
		}
	}
	return err
}

func frames(f *aio.Frames, r *aio.OpResult, list *[][]byte) error {
	return f.Completed(r, func(p []byte) error {
		*list = append(*list, p) // want `stored in`
		return nil
	})
}

func batches(ctx context.Context, r *live.Reader) (same int, err error) {
	var before []byte
	for {
		p, _, err := r.Next(ctx)
		if err != nil {
			return same, err
		}
		if bytes.Equal(before, p) { // want `used after Reader.Next`
			same++
		}
		before = p
	}
}

func headers(s *live.Stream, out chan<- []byte) {
	s.NewReader(live.ReaderOptions{})
	r, err := s.NewReader(live.ReaderOptions{})
	if err != nil {
		return
	}
	defer r.Close()
	p, _, err := r.Next(context.Background())
	if err == nil {
		out <- p // want `stored in a channel`
	}
}

func spread(w *aio.Watcher, conns []net.Conn, b mem.Buf) int {
	s, err := w.WriteMany(nil, conns, b, aio.SlowSkip)
	if err != nil || s.Failed > 0 {
		b.Release() // want `used after it was transferred`
	}
	return s.Written
}

type session struct {
	last []byte
	bufs []mem.Buf
}

func handler() *aio.ConnHandler[session] {
	return &aio.ConnHandler[session]{
		Data: func(c *aio.Conn[session], p []byte) error {
			c.State.last = p // want `stored in the field last`
			return nil
		},
	}
}

func bufHandler() *aio.ConnHandler[session] {
	h := new(aio.ConnHandler[session])
	h.Buf = func(c *aio.Conn[session], b mem.Buf) error {
		if b.Len() == 0 {
			return fmt.Errorf("empty") // want `is transferred to this function`
		}
		return c.WriteBuf(b)
	}
	return h
}

func (s *server) data(c *aio.Conn[session], p []byte) error {
	go c.Write(p) // want `stored in a goroutine`
	return nil
}

func methodHandler(s *server) *aio.ConnHandler[session] {
	return &aio.ConnHandler[session]{Data: s.data}
}

func (s *server) Completed(w *aio.Watcher, r *aio.OpResult) {
	if r.Error != nil {
		s.last = r // want `stored in the field last`
		return
	}
	s.seen[r.Conn] = r.Buffer[:r.Size] // want `stored in a map`
}
