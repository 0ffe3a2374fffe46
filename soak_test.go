package sluice_test

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/soak"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// soakFrame fills p with bytes that depend on seed and on where they are.
func soakFrame(p []byte, seed uint64) {
	binary.BigEndian.PutUint64(p, seed)
	for i := 8; i < len(p); i++ {
		seed = seed*6364136223846793005 + 1442695040888963407
		p[i] = byte(seed >> 56)
	}
}

// soakClient sends frames, stops half way for a while now and then, and in the end
// closes, between frames or inside one, and waits until the server has: connections
// that it has left would count as more than there are.
func soakClient(address string, r *rand.Rand, end time.Time) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer func() {
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}()
	for n := r.IntN(400); n >= 0 && time.Now().Before(end); n-- {
		size := 8 + r.IntN(2000)
		if r.IntN(50) == 0 {
			size = 8 + r.IntN(200_000)
		}
		b := make([]byte, 4+size)
		binary.BigEndian.PutUint32(b, uint32(size))
		soakFrame(b[4:], r.Uint64())
		cut := r.IntN(len(b))
		_, err := conn.Write(b[:cut])
		if r.IntN(100) == 0 {
			<-time.After(time.Duration(r.IntN(300)) * time.Millisecond)
		}
		if n == 0 && r.IntN(2) == 0 {
			return nil // inside a frame
		}
		if err == nil {
			_, err = conn.Write(b[cut:])
		}
		if err != nil {
			return nil // the server may have ended it
		}
	}
	return nil
}

// Two hundred connections come and go for as long as SLUICE_SOAK says, on a budget, and
// each frame is kept by three holders for a while, who look at every byte.
func TestSoakReaders(t *testing.T) {
	length := soak.Length(t)
	seed := sluicetest.Seed(t)
	memory := mem.New(mem.Options{Name: "soak", Budget: 8 << 20})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := soak.Begin(t, length, 0, memory)
	end := time.Now().Add(length)
	var frames, wrong atomic.Int64
	keepers := make([]chan mem.Buf, 3)
	var keeping sync.WaitGroup
	for i := range keepers {
		keepers[i] = make(chan mem.Buf, 64)
		keeping.Go(func() {
			for b := range keepers[i] {
				p := b.Bytes()
				want := make([]byte, len(p))
				soakFrame(want, binary.BigEndian.Uint64(p))
				if string(want) != string(p) {
					wrong.Add(1)
				}
				b.Release()
				frames.Add(1)
			}
		})
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				r := sluice.NewBufReader(conn, sluice.Options{Allocator: memory, Frame: 1 << 20})
				defer r.Recycle()
				_ = r.SetTimeout(2 * time.Second)
				for {
					n, err := r.ReadBE(4)
					if err != nil {
						return
					}
					began := time.Now()
					refs := make([]mem.Buf, len(keepers))
					if err := r.ReadBufs(n, refs); err != nil {
						if errors.Is(err, sluice.ErrTooLong) {
							wrong.Add(1)
						}
						return
					}
					w.Latency(time.Since(began))
					for i, k := range keepers {
						k <- refs[i]
					}
				}
			})
		}
	})
	var clients sync.WaitGroup
	for i := range 200 {
		clients.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for time.Now().Before(end) {
				if err := soakClient(l.Addr().String(), r, end); err != nil && !errors.Is(err, io.EOF) {
					t.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
	w.End()
	_ = l.Close()
	serving.Wait()
	for _, k := range keepers {
		close(k)
	}
	keeping.Wait()
	t.Logf("%d frames", frames.Load())
	if wrong.Load() > 0 || frames.Load() == 0 {
		t.Errorf("%d of %d frames were wrong", wrong.Load(), frames.Load())
	}
	if s := memory.Stats(); s.CheckedOut > 0 {
		t.Errorf("%d blocks are out at the end", s.CheckedOut)
	}
}
