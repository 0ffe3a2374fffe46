package sluice_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// TestContextThatWasReplacedEndsNoLaterWaitForMemory: it ended while the reader waited for
// nothing.
func TestContextThatWasReplacedEndsNoLaterWaitForMemory(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "pipe"} {
		a, free := usedUp(t, 64<<10)
		near, far := streamPair(t, network)
		goTest(t, func() { write(t, far, "x") })
		r := readerOf(t, a, 0, near)
		ctx, cancel := context.WithCancel(t.Context())
		r.SetContext(ctx)
		cancel()
		r.SetContext(context.Background()) // waits until the first has done what it does
		var err error
		done := waits(t, func(r *sluice.BufReader) { _, err = r.Peek(1) }, r)
		free()
		done()
		if err != nil {
			t.Errorf("%s: %v", network, err)
		}
	}
}

// TestContextThatHasEndedEndsAWaitForMemoryAlone: an empty Buf needs memory and no bytes.
func TestContextThatHasEndedEndsAWaitForMemoryAlone(t *testing.T) {
	a, free := usedUp(t, 64<<10)
	defer free()
	r := readerOf(t, a, 0, strings.NewReader("x"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	r.SetContext(ctx)
	for range 2 {
		var err error
		within(t, "ReadBuf(0)", func() { _, err = r.ReadBuf(0) })
		if !errors.Is(err, errCause) {
			t.Error(err)
		}
	}
}

// TestWaitForMemoryEndsWithTheConnectionOfTheLatestReset, not with the one before.
func TestWaitForMemoryEndsWithTheConnectionOfTheLatestReset(t *testing.T) {
	a, free := usedUp(t, 64<<10)
	first, far := tcpPair(t)
	goTest(t, func() { write(t, far, "x") })
	r := readerOf(t, a, 0, first)
	var err error
	peek := func(r *sluice.BufReader) { _, err = r.Peek(1) }
	done := waits(t, peek, r)
	free()
	done()
	if err != nil {
		t.Fatal(err)
	}
	second, _ := tcpPair(t)
	r.Allocator, free = usedUp(t, 64<<10)
	defer free()
	r.Reset(second)
	done = waits(t, peek, r)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	done()
	if !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// TestReadBufsForNoHolderWaitsForNothing where no bytes are asked for: a heartbeat, and no
// receivers at the moment.
func TestReadBufsForNoHolderWaitsForNothing(t *testing.T) {
	for _, buffered := range []string{"", "xy"} {
		pr, pw := io.Pipe()
		t.Cleanup(func() { _ = pw.Close() })
		r := readerOf(t, mem.New(mem.Options{}), 0, pr)
		if buffered != "" {
			goTest(t, func() { write(t, pw, buffered) })
			mustReadByte(t, r, 'x')
		}
		within(t, "ReadBufs(0, nil)", func() {
			if err := r.ReadBufs(0, nil); err != nil {
				t.Error(err)
			}
		})
	}
}
