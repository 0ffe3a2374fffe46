package std

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

var errWhy = errors.New("why")

// The buffer of a read is in use for as long as conn.Read has it.
func TestCancelGivesTheBufferBackWhenTheCallHasReturned(t *testing.T) {
	x := newFixture(t, op.Settings{})
	c := newScripted()
	interrupted, gate := make(chan struct{}, 8), make(chan struct{})
	reading := make(chan struct{})
	c.set = func(at time.Time) error {
		if !at.IsZero() {
			interrupted <- struct{}{}
		}
		return nil
	}
	buf := make([]byte, 10)
	c.read = func(p []byte) (int, error) {
		close(reading)
		<-interrupted
		<-gate
		p[0] = 'x' // what a read does late; the race detector sees it
		return 0, context.DeadlineExceeded
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	x.must(x.w.ReadContext(ctx, "read", c, buf))
	<-reading
	cancel(errWhy)
	x.fence()
	close(gate)
	if r := x.wantOne("read", errWhy, 0); &r.Buffer[0] != &buf[0] {
		t.Error("another buffer came back")
	}
	buf[0] = 'y'
	x.fence()
}

func TestCancelEndsAReadOnASocket(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.tcp()
	ctx, cancel := context.WithCancelCause(context.Background())
	x.must(x.w.ReadContext(ctx, "cancelled", near, nil))
	x.must(x.w.Read("next", near, nil))
	cancel(errWhy)
	x.wantOne("cancelled", errWhy, 0)
	_, err := far.Write([]byte("abc"))
	x.must(err)
	x.wantOne("next", nil, 3)
}

func TestCancelledBeforeItIsSubmitted(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, _ := x.pipe()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errWhy)
	x.must(x.w.ReadContext(ctx, "read", near, make([]byte, 1)))
	x.wantOne("read", errWhy, 0)
	x.must(x.w.WriteContext(ctx, "write", near, make([]byte, 1)))
	x.wantOne("write", errWhy, 0)
	// What submit does, when the context is heard of before the queue is.
	o := &operation{Request: op.Request{Kind: op.WriteBytes, Ctx: "early", Buf: make([]byte, 1), Cancel: ctx}, out: make([]byte, 1), total: 1}
	x.d.cancelled(o, context.Cause(ctx))
	x.d.mu.Lock()
	_, err := x.d.enqueue(near, o)
	x.d.mu.Unlock()
	x.must(err)
	x.wantOne("early", errWhy, 0)
	if s := x.w.Stats(); s.QueuedBytes != 0 || s.Pending != 0 {
		t.Errorf("%d bytes and %d operations are left", s.QueuedBytes, s.Pending)
	}
}

func TestCancelBetweenTwoCallsOfOneOperation(t *testing.T) {
	x := newFixture(t, op.Settings{})
	c := newScripted()
	ctx, cancel := context.WithCancelCause(context.Background())
	calls := 0
	c.write = func(p []byte) (int, error) {
		calls++
		cancel(errWhy)
		x.eventually("the watcher knows", func() bool {
			x.d.mu.Lock()
			defer x.d.mu.Unlock()
			return x.d.table.conns[c].writes.flight[0].err != nil
		})
		return 1, nil
	}
	x.must(x.w.WriteContext(ctx, "write", c, make([]byte, 3)))
	x.wantOne("write", errWhy, 1)
	if calls != 1 {
		t.Errorf("%d calls of Write", calls)
	}
}

func TestFreeBetweenTwoCallsOfOneOperation(t *testing.T) {
	x := newFixture(t, op.Settings{})
	c := newScripted()
	calls := 0
	c.read = func(p []byte) (int, error) {
		calls++
		x.w.Free(c)
		return 1, nil
	}
	x.must(x.w.ReadFull("read", c, make([]byte, 3), time.Time{}))
	x.wantOne("read", io.ErrClosedPipe, 1)
	if calls != 1 {
		t.Errorf("%d calls of Read", calls)
	}
}

// What a transferred buffer runs when it is released may use the watcher.
func TestFreeWhileAWriteIsReleased(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, _ := x.pipe()
	b := mem.Wrap(make([]byte, 1), func() {
		x.must(x.w.Write("behind", near, make([]byte, 1)))
		x.must(x.w.Free(near))
	})
	x.must(x.w.WriteBuf("late", near, b, time.Now()))
	want := map[any]error{"late": op.ErrDeadline, "behind": io.ErrClosedPipe}
	for len(want) > 0 {
		results, err := x.next()
		x.must(err)
		for _, r := range results {
			if r.Error != want[r.Context] {
				t.Errorf("%v completed with %v, want %v", r.Context, r.Error, want[r.Context])
			}
			delete(want, r.Context)
		}
	}
}

// A deadline that is far and a context that is never done keep nothing of an
// operation that is complete.
func TestLetsGoOfWhatIsComplete(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.tcp()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	gone := func() (w [3]weak.Pointer[[64]byte]) {
		var own [3]*[64]byte
		for i := range own {
			own[i] = new([64]byte)
			w[i] = weak.Make(own[i])
		}
		x.must(x.w.Read(nil, near, make([]byte, 1)))
		x.must(x.w.ReadTimeout(own[0], near, own[1][:1], time.Now().Add(time.Hour)))
		x.must(x.w.ReadContext(ctx, nil, near, own[2][:1]))
		_, err := far.Write([]byte("abc"))
		x.must(err)
		for got := 0; got < 3; {
			results, err := x.next()
			x.must(err)
			got += len(results)
		}
		return w
	}()
	x.fence()
	x.eventually("contexts and buffers are collected", func() bool {
		runtime.GC()
		return gone[0].Value() == nil && gone[1].Value() == nil && gone[2].Value() == nil
	})
}

func TestCancelTakesAWriteOutOfTheQueue(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.pipe()
	ctx, cancel := context.WithCancelCause(context.Background())
	x.must(x.w.Write("first", near, []byte("first ")))
	x.must(x.w.WriteContext(ctx, "cancelled", near, []byte("never")))
	x.must(x.w.Write("last", near, []byte("last")))
	cancel(errWhy)
	x.wantOne("cancelled", errWhy, 0)
	got := make(chan string, 1)
	go func() {
		var s []byte
		b := make([]byte, 20)
		for len(s) < 10 {
			n, err := far.Read(b)
			if s = append(s, b[:n]...); err != nil {
				break
			}
		}
		got <- string(s)
	}()
	seen := map[any]bool{}
	for len(seen) < 2 {
		results, err := x.next()
		x.must(err)
		for _, r := range results {
			seen[r.Context] = r.Error == nil
		}
	}
	if s := <-got; s != "first last" || !seen["first"] || !seen["last"] {
		t.Errorf("the peer has %q, completed: %v", s, seen)
	}
}

// Contexts that end in the middle of everything lose no operation, no byte of
// those behind, and complete nothing twice.
func TestCancelAtAnyTime(t *testing.T) {
	seed := sluicetest.Seed(t)
	r := rand.New(rand.NewPCG(seed, 3))
	x := newFixture(t, op.Settings{})
	near, far := x.tcp()
	const n = 400
	var sent sync.WaitGroup
	data := patterned(n * 8)
	sent.Go(func() {
		for i := 0; i < len(data); i += 8 {
			if _, err := far.Write(data[i : i+8]); err != nil {
				return
			}
		}
	})
	var got []byte
	completed := map[int]bool{}
	pending, submitted := 0, 0
	for len(got) < len(data) {
		for pending < 4 {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			x.must(x.w.ReadContext(ctx, submitted, near, make([]byte, 1+r.IntN(40))))
			if r.IntN(2) == 0 {
				go cancel()
			}
			submitted++
			pending++
		}
		results, err := x.next()
		x.must(err)
		for _, res := range results {
			id := res.Context.(int)
			if completed[id] {
				t.Fatalf("%d completed twice", id)
			}
			completed[id] = true
			pending--
			if res.Error != nil && !errors.Is(res.Error, context.Canceled) {
				t.Fatalf("%d: %v", id, res.Error)
			}
			got = append(got, res.Buffer[:res.Size]...)
		}
	}
	sent.Wait()
	if string(got) != string(data) {
		t.Error("other bytes came than were sent")
	}
}
