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

// soakIdle is after how long the server ends a connection on which nothing happens.
const soakIdle = 2 * time.Second

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
			IdleTimeout:  soakIdle,
			WriteTimeout: soakIdle,
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
	var echoed, wrong, early, late atomic.Int64
	var clients sync.WaitGroup
	for i := range 300 {
		clients.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for time.Now().Before(end) {
				began := time.Now()
				conn, err := net.Dial("tcp", listeners[0].Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				c := soakEchoes(conn, began, r, soakIdle, w.Latency)
				echoed.Add(c.echoed)
				wrong.Add(c.wrong)
				early.Add(c.early)
				late.Add(c.late)
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
	t.Logf("%d messages, %d connections, %d of them ended because their client was late", echoed.Load(), opened.Load(), late.Load())
	if wrong.Load() > 0 || echoed.Load() == 0 {
		t.Errorf("%d of %d messages came back wrong", wrong.Load(), echoed.Load())
	}
	if early.Load() > 0 {
		t.Errorf("%d connections were ended that had not been idle for %v", early.Load(), soakIdle)
	}
	if opened.Load() != closed.Load() {
		t.Errorf("%d connections were opened and %d closed", opened.Load(), closed.Load())
	}
	if s := memory.Stats(); s.CheckedOut > 0 {
		t.Errorf("%d blocks are out at the end", s.CheckedOut)
	}
}

// soakCounts is what came of the messages of one connection.
type soakCounts struct {
	echoed, wrong int64
	early         int64 // 1: the server ended it without a reason
	late          int64 // 1: the server ended it after the idle time, as it should
}

// soakEchoes sends messages and compares what comes back. Now and then it leaves before.
// The server, which has had the connection since heard at the earliest, may end it when it
// has had nothing for as long as idle: the client may have been stopped for that time.
func soakEchoes(conn net.Conn, heard time.Time, r *rand.Rand, idle time.Duration, latency func(time.Duration)) (c soakCounts) {
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	for range r.IntN(200) {
		p := make([]byte, 8+r.IntN(4000))
		for i := 0; i+8 <= len(p); i += 8 {
			binary.LittleEndian.PutUint64(p[i:], r.Uint64())
		}
		began := time.Now()
		if _, err := conn.Write(p); err != nil {
			return c
		}
		if r.IntN(300) == 0 {
			return c
		}
		back := make([]byte, len(p))
		n, err := io.ReadFull(conn, back)
		if string(back[:n]) != string(p[:n]) {
			c.wrong++
		}
		if err != nil {
			if time.Since(heard) >= idle {
				c.late++
			} else {
				c.early++
			}
			return c
		}
		latency(time.Since(began))
		c.echoed++
		heard = began
		if r.IntN(20) == 0 {
			<-time.After(time.Duration(r.IntN(100)) * time.Millisecond)
		}
	}
	return c
}

// TestSoakCounts: the soak tells a wrong byte and a connection that the server ends
// without a reason from one that it ends because nothing came.
func TestSoakCounts(t *testing.T) {
	for _, c := range []struct {
		name  string
		idle  time.Duration
		serve func(conn net.Conn)
		want  func(c soakCounts) bool
	}{
		{"echo", time.Hour, func(conn net.Conn) { _, _ = io.Copy(conn, conn) }, func(c soakCounts) bool { return c.echoed > 0 && c.wrong+c.early+c.late == 0 }},
		{"ended at once", time.Hour, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 5000)) }, func(c soakCounts) bool { return c.early == 1 && c.wrong == 0 }},
		{"a wrong byte", 0, func(conn net.Conn) {
			p := make([]byte, 5000)
			n, _ := conn.Read(p)
			p[n-1]++
			_, _ = conn.Write(p[:n])
		}, func(c soakCounts) bool { return c.wrong > 0 }},
		{"ended late", 0, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 5000)) }, func(c soakCounts) bool { return c.late == 1 && c.wrong+c.early == 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			near, far := net.Pipe()
			go func() {
				c.serve(far)
				_ = far.Close()
			}()
			got := soakEchoes(near, time.Now(), rand.New(rand.NewPCG(1, 1)), c.idle, func(time.Duration) {})
			_ = near.Close()
			if !c.want(got) {
				t.Errorf("%+v", got)
			}
		})
	}
}
