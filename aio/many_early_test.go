package aio_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/sys"
)

// A peer that takes nothing has thousands of writes waiting, which end in any order. The
// watcher must not stand still for that: it serves others too.
func TestThousandsOfWritesOnOneConnectionEndEarly(t *testing.T) {
	n := 80_000
	if sys.Race {
		n = 5_000
	}
	w, err := aio.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	near, far := tcpPair(t)
	defer far.Close()
	if err := w.Write(nil, near, make([]byte, 16<<20)); err != nil {
		t.Fatal(err)
	}
	for range n {
		at := time.Now().Add(soon + time.Duration(rand.Int64N(int64(soon))))
		if err := w.WriteTimeout(1, near, []byte("x"), at); err != nil {
			t.Fatal(err)
		}
	}
	late := time.AfterFunc(atMost, func() { w.Close() })
	defer late.Stop()
	for ended := 0; ended < n; {
		results, err := w.WaitIO()
		if err != nil {
			t.Fatalf("%d of %d have ended after %v: %v", ended, n, atMost, err)
		}
		for _, r := range results {
			if r.Error != aio.ErrDeadline {
				t.Fatalf("%+v", r)
			}
			ended++
		}
	}
}
