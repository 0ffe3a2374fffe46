package aio_test

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// Frames of several parts that many goroutines write to one connection stay whole, those that
// wait in its queue and those that do not.
func TestWriteMemoryIsOneWrite(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		const writers, frames, length = 4, 200, 9000
		opened := make(chan *aio.Conn[int], 1)
		s := serveConns(t, &aio.ConnHandler[int]{
			TLS:  config,
			Open: func(c *aio.Conn[int]) error { opened <- c; return nil },
			Data: func(*aio.Conn[int], []byte) error { return nil },
		}, aio.Server{Options: o})
		client := s.dial()
		c := <-opened
		shared := s.memory.Get(length)
		clear(shared.Bytes())
		var all sync.WaitGroup
		for id := range writers {
			all.Go(func() {
				for n := range frames {
					head := s.memory.Get(3)
					head.Bytes()[0] = byte(id)
					binary.BigEndian.PutUint16(head.Bytes()[1:], uint16(n))
					if err := c.WriteMemory(mem.NewMemory(head, shared.Retain())); err != nil {
						t.Error(err)
					}
				}
			})
		}
		var next [writers]int
		frame := make([]byte, 3+length)
		for range writers * frames {
			if _, err := io.ReadFull(client, frame); err != nil {
				t.Fatal(err)
			}
			id, n := int(frame[0]), int(binary.BigEndian.Uint16(frame[1:]))
			if id >= writers || n != next[id] {
				t.Fatalf("frame %d of writer %d, want %d", n, id, next)
			}
			next[id]++
			for i, b := range frame[3:] {
				if b != 0 {
					t.Fatalf("byte %d of the payload is %d", i, b)
				}
			}
		}
		all.Wait()
		if err := errors.Join(c.WriteMemory(new(mem.Memory)), c.WriteMemory(mem.NewMemory(shared))); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(client, frame[:length]); err != nil {
			t.Error(err)
		}
		client.Close()
		s.end()
	})
}

func TestWriteMemoryThatIsRefusedWritesNoPart(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		if config != nil {
			return // the connection is closed then
		}
		o.QueueLimit = 1 << 20
		opened := make(chan *aio.Conn[int], 1)
		s := serveConns(t, &aio.ConnHandler[int]{
			Open: func(c *aio.Conn[int]) error { opened <- c; return nil },
			Data: func(*aio.Conn[int], []byte) error { return nil },
		}, aio.Server{Options: o})
		client := s.dial()
		c := <-opened
		written := int64(0)
		var err error
		for written < 1<<30 {
			m := mem.NewMemory(s.memory.Get(1), s.memory.Get(100_000))
			size := int64(m.Size)
			if err = c.WriteMemory(m); err != nil {
				break
			}
			written += size
		}
		if !errors.Is(err, aio.ErrQueueFull) {
			t.Errorf("after %d bytes: %v", written, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if n, err := io.Copy(io.Discard, client); n != written || err != nil {
			t.Errorf("%d bytes came of %d, %v", n, written, err)
		}
		client.Close()
		s.end()
	})
}
