package aio_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// When Shutdown returns nil, peers have all that submissions took, however many come
// from how many goroutines while it begins, except on connections that were freed.
func TestShutdownLosesNothingThatWasTaken(t *testing.T) {
	for _, d := range driversHere(t) {
		t.Run(d.String(), func(t *testing.T) {
			dice := rand.New(rand.NewPCG(sluicetest.Seed(t), 2))
			rounds := 40
			if sys.Race {
				rounds = 15
			}
			for range rounds {
				shutdownRace(t, d, dice.Uint64())
			}
		})
	}
}

// racer is a connection on which one goroutine writes.
type racer struct {
	near, far net.Conn
	taken     int64 // bytes of the writes whose submission returned nil
	freed     bool
	failed    atomic.Bool // a write has completed with an error
	received  int64
}

func shutdownRace(t *testing.T, d aio.Driver, seed uint64) {
	const conns = 6
	dice := rand.New(rand.NewPCG(seed, 3))
	memory := mem.New(mem.Options{Name: t.Name()})
	w, err := aio.NewWatcherOptions(aio.Options{Driver: d, QuietWrites: true, Allocator: memory})
	if err != nil {
		t.Fatal(err)
	}
	var racers [conns]*racer
	byConn := map[net.Conn]*racer{}
	var reading, writing, waiting sync.WaitGroup
	for i := range racers {
		r := &racer{}
		r.near, r.far = tcpPair(t)
		racers[i], byConn[r.near] = r, r
		reading.Go(func() { r.received, _ = io.Copy(io.Discard, r.far) })
	}
	waiting.Go(func() {
		for {
			results, err := w.WaitIO()
			for i := range results {
				if r := byConn[results[i].Conn]; r != nil && results[i].Error != nil && results[i].Operation == aio.OpWrite {
					r.failed.Store(true)
				}
			}
			if errors.Is(err, aio.ErrWatcherClosed) {
				return
			}
		}
	})
	once := dice.IntN(2) == 0 // each writes once, more than sockets hold, as Shutdown begins
	frees := dice.IntN(3) == 0
	closes := dice.IntN(3) == 0
	large := make([]byte, 6<<20) // only read
	var begun atomic.Int64
	var gate atomic.Bool
	for i, r := range racers {
		own := rand.New(rand.NewPCG(seed, uint64(10+i)))
		writing.Go(func() {
			for !gate.Load() {
				runtime.Gosched()
			}
			for {
				var err error
				n := 1 + own.IntN(100_000)
				if once {
					n = len(large)
					err = w.Write(nil, r.near, large)
				} else if own.IntN(2) == 0 {
					err = w.Write(nil, r.near, make([]byte, n))
				} else {
					err = w.WriteBuf(nil, r.near, memory.Get(n), time.Time{})
				}
				if err != nil {
					return
				}
				r.taken += int64(n)
				begun.Add(1)
				if once {
					return
				}
				if frees && i == 0 && own.IntN(8) == 0 {
					r.freed = true
					_ = w.Free(r.near)
				}
			}
		})
	}
	gate.Store(true)
	for began, wait := time.Now(), time.Duration(dice.IntN(300))*time.Microsecond; once && time.Since(began) < wait; {
	}
	for wait := int64(dice.IntN(40)); !once && begun.Load() < wait; runtime.Gosched() {
	}
	ctx, stop := context.WithTimeout(t.Context(), atMost)
	defer stop()
	if closes {
		writing.Go(func() { _ = w.Close() })
	}
	err = w.Shutdown(ctx)
	writing.Wait()
	_ = w.Close()
	waiting.Wait()
	for _, r := range racers {
		// Std closes the connection that it has; this one may never have been submitted.
		_ = r.near.Close()
	}
	reading.Wait()
	switch {
	case errors.Is(err, aio.ErrWatcherClosed) && closes:
	case err != nil:
		t.Errorf("seed %d: Shutdown returns %v", seed, err)
	default:
		for i, r := range racers {
			if !r.freed && (r.received != r.taken || r.failed.Load()) {
				t.Errorf("seed %d: connection %d: %d bytes of the %d that were taken have come, a write failed: %v; Close too: %v",
					seed, i, r.received, r.taken, r.failed.Load(), closes)
			}
		}
	}
	for deadline := time.Now().Add(atMost); memory.Stats().OutBytes > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("seed %d: %d bytes are not given back", seed, memory.Stats().OutBytes)
		}
	}
}
