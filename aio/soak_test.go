package aio_test

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/soak"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Three hundred clients of an echo server come and go for as long as SLUICE_SOAK says;
// some leave without reading what they are owed, or in the middle of a message.
func TestSoakConns(t *testing.T) {
	length := soak.Length(t)
	seed := sluicetest.Seed(t)
	memory := mem.New(mem.Options{Name: "soak"})
	listeners, err := aio.Listen(t.Context(), "tcp", "127.0.0.1:0", 1)
	if err != nil {
		t.Fatal(err)
	}
	var opened, closed atomic.Int64
	s := &aio.Server{
		Watchers: 2,
		Options:  aio.Options{Allocator: memory, QueueLimit: 1 << 20},
		Handler: &aio.ConnHandler[struct{}]{
			IdleTimeout:  2 * time.Second,
			WriteTimeout: 2 * time.Second,
			Open:         func(*aio.Conn[struct{}]) error { opened.Add(1); return nil },
			Data: func(c *aio.Conn[struct{}], p []byte) error {
				_, err := c.Write(p)
				return err
			},
			Closed: func(*aio.Conn[struct{}], error) { closed.Add(1) },
		},
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listeners) }()
	w := soak.Begin(t, length, 0, memory)
	end := time.Now().Add(length)
	var echoed, wrong atomic.Int64
	var clients sync.WaitGroup
	for i := range 300 {
		clients.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for time.Now().Before(end) {
				conn, err := net.Dial("tcp", listeners[0].Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				n, bad := soakEchoes(conn, r, w)
				echoed.Add(n)
				wrong.Add(bad)
				_ = conn.Close()
			}
		})
	}
	clients.Wait()
	w.End()
	stop()
	if err := <-served; err != nil && ctx.Err() == nil {
		t.Error(err)
	}
	t.Logf("%d messages, %d connections", echoed.Load(), opened.Load())
	if wrong.Load() > 0 || echoed.Load() == 0 {
		t.Errorf("%d of %d messages came back wrong", wrong.Load(), echoed.Load())
	}
	if opened.Load() != closed.Load() {
		t.Errorf("%d connections were opened and %d closed", opened.Load(), closed.Load())
	}
	if s := memory.Stats(); s.CheckedOut > 0 {
		t.Errorf("%d blocks are out at the end", s.CheckedOut)
	}
}

// soakEchoes sends messages and compares what comes back. Now and then it leaves before.
func soakEchoes(conn net.Conn, r *rand.Rand, w *soak.Watch) (echoed, wrong int64) {
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	for range r.IntN(200) {
		p := make([]byte, 8+r.IntN(4000))
		for i := 0; i+8 <= len(p); i += 8 {
			binary.LittleEndian.PutUint64(p[i:], r.Uint64())
		}
		began := time.Now()
		if _, err := conn.Write(p); err != nil {
			return echoed, wrong
		}
		if r.IntN(300) == 0 {
			return echoed, wrong
		}
		back := make([]byte, len(p))
		if _, err := io.ReadFull(conn, back); err != nil {
			return echoed, wrong + 1
		}
		w.Latency(time.Since(began))
		echoed++
		if string(back) != string(p) {
			wrong++
		}
		if r.IntN(20) == 0 {
			<-time.After(time.Duration(r.IntN(100)) * time.Millisecond)
		}
	}
	return echoed, wrong
}
