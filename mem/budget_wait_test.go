package mem_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/sluice-go/sluice/mem"
)

// got is what a GetContext in another goroutine came to.
type got struct {
	id  int
	buf mem.Buf
	err error
}

// wait starts a GetContext and returns when it waits.
func wait(t *testing.T, ctx context.Context, a *mem.Allocator, id, n int, to chan<- got) {
	t.Helper()
	before := a.Stats().Budget.Waiting
	go func() {
		b, err := a.GetContext(ctx, n)
		to <- got{id, b, err}
	}()
	eventually(t, "GetContext waits", func() bool { return a.Stats().Budget.Waiting == before+1 })
}

func fullAllocator(t *testing.T, n, size int) (*mem.Allocator, []mem.Buf) {
	t.Helper()
	a := mem.New(mem.Options{Name: "full", Budget: int64(n * size)})
	bufs := make([]mem.Buf, n)
	for i := range bufs {
		var err error
		if bufs[i], err = a.TryGet(size); err != nil {
			t.Fatal(err)
		}
	}
	return a, bufs
}

func TestWaitersAreServedInTheirOrder(t *testing.T) {
	const n = 20
	a, bufs := fullAllocator(t, n, 4096)
	served := make(chan got, n)
	for i := range n {
		wait(t, t.Context(), a, i, 4096, served)
	}
	for i := range n {
		if _, err := a.TryGet(1); !errors.Is(err, mem.ErrBudget) {
			t.Fatalf("TryGet overtook a waiter: %v", err)
		}
		bufs[i].Release()
		g := <-served
		if g.id != i || g.err != nil {
			t.Fatalf("number %d was served, %v, want %d", g.id, g.err, i)
		}
		bufs[i] = g.buf
	}
	for i := range bufs {
		bufs[i].Release()
	}
	a.Trim()
	if s := a.Stats().Budget; s.Charged != 0 || s.Waiting != 0 {
		t.Errorf("in the end: %+v", s)
	}
}

func TestALargeRequestIsNotOvertakenBySmallOnes(t *testing.T) {
	a, bufs := fullAllocator(t, 4, 4096)
	served := make(chan got, 2)
	wait(t, t.Context(), a, 0, 4*4096, served)
	wait(t, t.Context(), a, 1, 256, served)
	for i := range bufs {
		select {
		case g := <-served:
			t.Fatalf("number %d was served with %d blocks out", g.id, len(bufs)-i)
		default:
		}
		bufs[i].Release()
	}
	g := <-served
	if g.id != 0 || g.err != nil {
		t.Fatalf("number %d was served first, %v", g.id, g.err)
	}
	g.buf.Release()
	g = <-served
	if g.id != 1 || g.err != nil {
		t.Fatalf("number %d was served second, %v", g.id, g.err)
	}
	g.buf.Release()
}

func TestACancelledWaiterLeavesAndOthersMoveUp(t *testing.T) {
	a, bufs := fullAllocator(t, 2, 4096)
	reason := errors.New("the client went away")
	ctx, cancel := context.WithCancelCause(t.Context())
	served := make(chan got, 3)
	wait(t, ctx, a, 0, 8192, served)
	wait(t, t.Context(), a, 1, 4096, served)
	bufs[0].Release() // not enough for the first, and the second does not overtake
	cancel(reason)
	for range 2 {
		switch g := <-served; g.id {
		case 0:
			if !errors.Is(g.err, mem.ErrBudget) || !errors.Is(g.err, reason) {
				t.Errorf("the cancelled waiter has %v", g.err)
			}
			if g.buf.Valid() {
				t.Error("a refused request has a Buf")
			}
		case 1:
			if g.err != nil {
				t.Fatal(g.err)
			}
			g.buf.Release()
		}
	}
	bufs[1].Release()
	a.Trim()
	if s := a.Stats().Budget; s.Charged != 0 || s.Waiting != 0 {
		t.Errorf("in the end: %+v", s)
	}
}

func TestAnEndedContextIsRefusedOnlyWhereItWouldWait(t *testing.T) {
	a, bufs := fullAllocator(t, 1, 4096)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.GetContext(ctx, 1); !errors.Is(err, context.Canceled) || !errors.Is(err, mem.ErrBudget) {
		t.Errorf("GetContext: %v", err)
	} else if want := `mem: budget of allocator "full": 256 bytes wanted, 4096 of 4096 in use: context canceled`; err.Error() != want {
		t.Errorf("the error reads %q, want %q", err, want)
	}
	bufs[0].Release()
	b, err := a.GetContext(ctx, 1)
	if err != nil {
		t.Fatalf("there is room, and GetContext: %v", err)
	}
	b.Release()
}

// A place in the queue that such a call left behind would hold up all that wait after it.
func TestANilContextIsRefusedBeforeItWaits(t *testing.T) {
	a, _ := fullAllocator(t, 1, 4096)
	for name, a := range map[string]*mem.Allocator{"with room": mem.New(mem.Options{}), "full": a} {
		var none context.Context
		mustPanic(t, name, func() { a.GetContext(none, 1) }, "mem: Allocator.GetContext: nil context")
		if n := a.Stats().Budget.Waiting; n != 0 {
			t.Errorf("%s: %d wait", name, n)
		}
	}
}

func TestMoreThanTheWholeBudgetIsRefusedAtOnce(t *testing.T) {
	a := mem.New(mem.Options{Budget: 5000})
	if _, err := a.GetContext(context.Background(), 4097); !errors.Is(err, mem.ErrBudget) { // 8192 bytes
		t.Errorf("GetContext: %v", err)
	}
	if n := a.Stats().Budget.Waiting; n != 0 {
		t.Errorf("%d wait", n)
	}
}

// Capacity comes back in several ways, and each wakes a waiter.
func TestEveryWayBackWakesAWaiter(t *testing.T) {
	for name, free := range map[string]func(a *mem.Allocator, b mem.Buf){
		"Release":       func(_ *mem.Allocator, b mem.Buf) { b.Release() },
		"Compact":       func(_ *mem.Allocator, b mem.Buf) { v := b.RetainedSlice(0, 10); b.Release(); v.Compact() },
		"the collector": func(_ *mem.Allocator, b mem.Buf) {},
		"Memory": func(_ *mem.Allocator, b mem.Buf) {
			m := mem.NewMemory(b.RetainedSlice(0, 1), b.RetainedSlice(1, 2))
			b.Release()
			m.Release()
		},
		"Slab.Park": func(_ *mem.Allocator, b mem.Buf) { s := mem.SlabOf(b); s.Park() },
	} {
		for _, size := range []int{8192, 5 << 20} {
			a := mem.New(mem.Options{Budget: int64(size) + 512})
			b, err := a.TryGet(size)
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan got, 1)
			wait(t, t.Context(), a, 0, size, served)
			free(a, b)
			var g got
			eventually(t, fmt.Sprintf("%s of %d bytes wakes the waiter", name, size), func() bool {
				if name == "the collector" {
					runtime.GC()
				}
				select {
				case g = <-served:
					return true
				default:
					return false
				}
			})
			if g.err != nil {
				t.Errorf("%s of %d bytes: %v", name, size, g.err)
			} else {
				g.buf.Release()
			}
		}
	}
}
