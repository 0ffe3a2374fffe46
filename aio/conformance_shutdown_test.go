package aio_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluice-go/sluice/aio"
)

func init() {
	suite = append(suite,
		behaviour{name: "Shutdown drains", run: shutdownDrains},
		behaviour{name: "Shutdown gives up when its context is done", run: shutdownGivesUp},
		behaviour{name: "Shutdown that Close cuts short", run: shutdownCut},
		behaviour{name: "Shutdown with nothing queued", run: shutdownIdle, on: everyConn},
		behaviour{name: "Shutdown of a closed watcher", run: shutdownClosed, on: onlyTCP},
	)
}

// shutdown calls Shutdown in a goroutine. Its error can be received once.
func (f *fixture) shutdown(ctx context.Context) <-chan error {
	result := make(chan error, 1)
	go func() { result <- f.w.Shutdown(ctx) }()
	return result
}

func (f *fixture) shutdownResult(c <-chan error) error {
	f.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(eventTimeout):
		f.Fatalf("Shutdown has not returned\n%s", stacks())
		return nil
	}
}

// waitUntilClosed goes on in WaitIO as Shutdown asks for.
func (f *fixture) waitUntilClosed() {
	f.Helper()
	for !f.closed {
		if _, err := f.next(); err != nil && !errors.Is(err, aio.ErrWatcherClosed) {
			f.Fatal(err)
		}
	}
}

// shutdownDrains has two slow peers. They read nothing before a read has
// completed, which shows that the shutdown has begun.
func shutdownDrains(f *fixture) {
	nearA, farA := f.narrowPair()
	nearB, farB := f.narrowPair()
	idle := f.idleConn()
	a, b, tail := f.bytes(tooMuch), f.bytes(tooMuch), f.bytes(5000)
	writes := []*op{f.write(nearA, a), f.write(nearB, b), f.writeMemory(nearB, f.memoryOf(tail, 700), time.Time{})}
	reads := []*op{f.read(nearA, 10), f.readNil(idle), f.readBuf(idle, 10, never()), f.readFull(nearB, 10, time.Time{})}
	f.park()
	result := f.shutdown(f.Context())
	f.wait(reads...)
	f.wantAllEnded(reads, aio.ErrWatcherClosed)
	f.wantRefused(nearA, aio.ErrWatcherClosed)
	f.wantRefused(idle, aio.ErrWatcherClosed)
	f.wantRefused(f.idleConn(), aio.ErrWatcherClosed)
	receivedA := f.receive(farA, a)
	receivedB := f.receive(farB, append(b, tail...))
	f.waitUntilClosed()
	for _, o := range writes {
		f.wantError(o, nil)
	}
	if err := f.shutdownResult(result); err != nil {
		f.Errorf("Shutdown: %v", err)
	}
	<-receivedA
	<-receivedB
	f.wantEOF(farA)
	f.wantEOF(farB)
}

func shutdownGivesUp(f *fixture) {
	near, _ := f.narrowPair()
	idle := f.idleConn()
	w, queued := f.write(near, f.bytes(tooMuch)), f.writeBuf(near, f.bufOf(f.bytes(100)), time.Time{})
	r := f.read(idle, 10)
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel()
	result := f.shutdown(ctx)
	f.wait(r)
	cancel()
	f.waitUntilClosed()
	if err := f.shutdownResult(result); !errors.Is(err, context.Canceled) {
		f.Errorf("Shutdown: %v, want the context's error", err)
	}
	f.wantAllEnded([]*op{r, w, queued}, aio.ErrWatcherClosed)
	if w.res.Size >= tooMuch || queued.res.Size != 0 {
		f.Errorf("%d and %d bytes of writes that were given up", w.res.Size, queued.res.Size)
	}
}

// shutdownCut: nil would say that everything is out.
func shutdownCut(f *fixture) {
	near, far := f.narrowPair()
	w, r := f.write(near, f.bytes(tooMuch)), f.read(near, 10)
	// Close comes also while Shutdown is still ending these reads.
	reads := []*op{r}
	for range 50 {
		reads = append(reads, f.read(f.idleConn(), 10))
	}
	result := f.shutdown(f.Context())
	f.eventually("a read ended by Shutdown", func() bool {
		_, err := f.next()
		return err != nil || slices.ContainsFunc(reads, func(o *op) bool { return o.done })
	})
	_ = f.w.Close()
	if err := f.shutdownResult(result); !errors.Is(err, aio.ErrWatcherClosed) {
		f.Errorf("Shutdown, when a write was cut short by Close: %v, want ErrWatcherClosed", err)
	}
	f.waitUntilClosed()
	f.wantAllEnded(append(reads, w), aio.ErrWatcherClosed)
	f.wantCut(far, int64(w.res.Size))
}

func shutdownIdle(f *fixture) {
	near, _ := f.pair()
	r := f.read(near, 10)
	// No goroutine is in WaitIO, and none is needed.
	if err := f.shutdownResult(f.shutdown(f.Context())); err != nil {
		f.Errorf("Shutdown: %v", err)
	}
	f.waitUntilClosed()
	f.wantError(r, aio.ErrWatcherClosed)
}

func shutdownClosed(f *fixture) {
	_ = f.w.Close()
	if err := f.shutdownResult(f.shutdown(f.Context())); err != nil && !errors.Is(err, aio.ErrWatcherClosed) {
		f.Errorf("Shutdown: %v", err)
	}
}
