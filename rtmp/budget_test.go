package rtmp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

const budgetLongest = 60_000

// budgetStream returns n messages on two chunk streams whose chunks alternate, and the
// beginning of one more.
func budgetStream(rng *rand.Rand, n, chunk int) (whole, half []byte) {
	whole = AppendChunkHeader(nil, 2, TypeSetChunkSize, 0, 0, 4)
	whole = binary.BigEndian.AppendUint32(whole, uint32(chunk))
	var lengths, have [2]int
	for begun := 0; ; {
		busy := false
		for i := range lengths {
			id := uint32(4 + i)
			if have[i] == lengths[i] {
				if begun == n {
					continue
				}
				begun++
				lengths[i], have[i] = 3000+rng.IntN(budgetLongest-3000+1), 0
				whole = AppendChunkHeader(whole, id, TypeVideo, 1, 0, lengths[i])
			} else {
				whole = AppendContinuation(whole, id, 0)
			}
			k := min(chunk, lengths[i]-have[i])
			whole = append(whole, bytes.Repeat([]byte{byte(lengths[i])}, k)...)
			have[i] += k
			busy = true
		}
		if !busy {
			break
		}
	}
	half = budgetMessage(budgetLongest, chunk)
	return whole, half[:len(half)/2]
}

// budgetMessage returns a message in chunks.
func budgetMessage(length, chunk int) []byte {
	p := AppendChunkHeader(nil, 6, TypeVideo, 1, 0, length)
	for have := 0; have < length; have += chunk {
		if have > 0 {
			p = AppendContinuation(p, 6, 0)
		}
		p = append(p, make([]byte, min(chunk, length-have))...)
	}
	return p
}

// Many publishers want far more memory at once than there is. Some of them stop in the middle of
// a message and stay. All others are read to their ends.
func TestPublishersWaitForTheBudget(t *testing.T) {
	publishers, stopping, messages, budget := 1000, 50, 6, int64(4<<20)
	if sys.Race || testing.Short() {
		publishers, stopping, budget = 200, 10, 1<<20
	}
	seed := sluicetest.Seed(t)
	a := mem.New(mem.Options{Name: "publishers", Budget: budget, Leak: mem.LeakSample})
	sluicetest.NoLeaks(t, a)
	var begun, going, staying sync.WaitGroup
	begun.Add(publishers)
	var most, over atomic.Int64
	watched := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-watched:
				return
			case <-tick.C:
			}
			s := a.Stats()
			most.Store(max(most.Load(), s.OutBytes))
			over.Store(max(over.Load(), s.Budget.Overdraft))
		}
	})
	took := make([]time.Duration, publishers)
	var stopped []io.Closer
	begin := time.Now()
	for i := range publishers {
		near, far := linkTCP(t)
		if err := near.SetDeadline(begin.Add(linkWait)); err != nil {
			t.Fatal(err)
		}
		whole, half := budgetStream(rand.New(rand.NewPCG(seed, uint64(i))), messages, []int{128, 4096}[i%2])
		stops := i%(publishers/stopping) == 0
		if stops {
			whole = append(whole, half...)
			stopped = append(stopped, near)
			staying.Add(1)
		}
		going.Add(1)
		go func() {
			_, err := far.Write(whole[:2000])
			begun.Done()
			begun.Wait()
			if _, more := far.Write(whole[2000:]); err != nil || more != nil {
				t.Errorf("publisher %d: %v, %v", i, err, more)
			}
			if !stops {
				_ = far.Close()
			}
		}()
		go func() {
			// Behind what gives the memory back.
			if stops {
				defer staying.Done()
			} else {
				defer going.Done()
			}
			r := sluice.NewBufReader(near, sluice.Options{Allocator: a})
			c := NewChunkReader(r, Limits{})
			defer near.Close()
			defer r.Recycle()
			defer c.Recycle()
			got := 0
			for got < messages {
				m, err := c.ReadMessage()
				if err != nil {
					t.Errorf("publisher %d after %d messages: %v", i, got, err)
					break
				}
				p := m.Payload.Bytes()
				if p[0] != byte(len(p)) || p[len(p)-1] != byte(len(p)) {
					t.Errorf("publisher %d: another's bytes", i)
				}
				m.Release()
				got++
			}
			took[i] = time.Since(begin)
			want := io.EOF
			if stops {
				going.Done()
				want = net.ErrClosed
			}
			if _, err := c.ReadMessage(); got == messages && !errors.Is(err, want) {
				t.Errorf("publisher %d ends with %v, want %v", i, err, want)
			}
		}()
	}
	going.Wait()
	for _, c := range stopped {
		_ = c.Close()
	}
	staying.Wait()
	close(watched)
	watch.Wait()
	slices.Sort(took)
	t.Logf("first %v, median %v, last %v; at most %d bytes out, %d beyond the budget of %d", took[0], took[publishers/2], took[publishers-1], most.Load(), over.Load(), budget)
	if most.Load() > 8*budget {
		t.Errorf("at most %d bytes were out, the budget is %d", most.Load(), budget)
	}
	if s := a.Stats(); s.Budget.Waiting != 0 || s.Budget.Overdraft != 0 {
		t.Errorf("in the end %+v", s.Budget)
	}
}

// budgetWaiter is a reader of one message that waits for memory until others is released.
func budgetWaiter(t *testing.T) (near net.Conn, r *sluice.BufReader, others *mem.Buf, result chan error, read func()) {
	a := mem.New(mem.Options{Name: "waiter", Budget: 64 << 10})
	sluicetest.NoLeaks(t, a)
	near, far := linkTCP(t)
	in := budgetMessage(20_000, InitialChunkSize)
	if _, err := far.Write(in[:1000]); err != nil {
		t.Fatal(err)
	}
	r = sluice.NewBufReader(near, sluice.Options{Allocator: a})
	c := NewChunkReader(r, Limits{})
	t.Cleanup(func() { c.Recycle(); r.Recycle() })
	if err := near.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadMessage(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	if err := near.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	all := a.Get(64 << 10)
	if _, err := far.Write(in[1000:]); err != nil {
		t.Fatal(err)
	}
	result = make(chan error, 1)
	read = func() {
		go func() {
			m, err := c.ReadMessage()
			if err == nil {
				m.Release()
			}
			result <- err
		}()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for a.Stats().Budget.Waiting == 0 && len(result) == 0 {
			<-tick.C
		}
	}
	return near, r, &all, result, read
}

// All that ends a wait for bytes ends one for memory, and the call can be repeated.
func TestWaitForTheBudgetEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("a cause")
	for _, c := range []struct {
		name   string
		before func(r *sluice.BufReader) error
		end    func(near net.Conn) error
		want   error
		after  func(near net.Conn, r *sluice.BufReader) error // nil: the end is for good
	}{
		{"a deadline", nil, func(near net.Conn) error { return near.SetReadDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded,
			func(near net.Conn, _ *sluice.BufReader) error { return near.SetReadDeadline(time.Time{}) }},
		{"a timeout", func(r *sluice.BufReader) error { return r.SetTimeout(20 * time.Millisecond) }, nil, os.ErrDeadlineExceeded,
			func(_ net.Conn, r *sluice.BufReader) error { return r.SetTimeout(0) }},
		{"a context", func(r *sluice.BufReader) error { r.SetContext(ctx); return nil }, func(net.Conn) error { cancel(cause); return nil }, cause,
			func(_ net.Conn, r *sluice.BufReader) error { r.SetContext(context.Background()); return nil }},
		{"Close", nil, net.Conn.Close, net.ErrClosed, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			near, r, others, result, read := budgetWaiter(t)
			check := func(err error) {
				if err != nil {
					t.Error(err)
				}
			}
			if c.before != nil {
				check(c.before(r))
			}
			read()
			if c.end != nil {
				check(c.end(near))
			}
			if err := <-result; !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if c.after != nil {
				check(c.after(near, r))
				read()
				others.Release()
				check(<-result)
			} else {
				others.Release()
			}
		})
	}
}

// Where more than is needed does not fit, what is needed does.
func TestBudgetHasRoomForLess(t *testing.T) {
	a := mem.New(mem.Options{Name: "less", Budget: 3000})
	sluicetest.NoLeaks(t, a)
	others := a.Get(2000)
	b := sluice.NewBufReaderFed(sluice.Options{Allocator: a})
	c := NewChunkReader(b, Limits{})
	if err := b.Feed(budgetMessage(600, InitialChunkSize)[:500]); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadMessage(); !errors.Is(err, sluice.ErrShort) {
		t.Errorf("%v, want %v", err, sluice.ErrShort)
	}
	others.Release()
	c.Recycle()
	b.Recycle()
}

// Readers whose messages fill the budget together, and whose peers have sent the rest, do
// not wait for each other.
func TestHoldersOfHalvesGoOn(t *testing.T) {
	const holders = 6
	a := mem.New(mem.Options{Name: "halves", Budget: 2 * 64 << 10})
	sluicetest.NoLeaks(t, a)
	in := budgetMessage(40_000, InitialChunkSize)
	var group sync.WaitGroup
	var rests []func()
	for range holders {
		near, far := linkTCP(t)
		if err := near.SetDeadline(time.Now().Add(linkWait)); err != nil {
			t.Fatal(err)
		}
		r := sluice.NewBufReader(near, sluice.Options{Allocator: a})
		c := NewChunkReader(r, Limits{})
		if _, err := far.Write(in[:len(in)/2]); err != nil {
			t.Fatal(err)
		}
		rests = append(rests, func() {
			if _, err := far.Write(in[len(in)/2:]); err != nil {
				t.Error(err)
			}
		})
		group.Go(func() {
			m, err := c.ReadMessage()
			if err != nil {
				t.Error(err)
				return
			}
			m.Release()
			c.Recycle()
			r.Recycle()
		})
	}
	for _, rest := range rests {
		rest()
	}
	group.Wait()
}
