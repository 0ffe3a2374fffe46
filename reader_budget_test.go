package sluice_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// usedUp returns an allocator whose budget has no room until free is called.
func usedUp(t *testing.T, budget int) (a *mem.Allocator, free func()) {
	a = watched(t, int64(budget))
	var all []mem.Buf
	for {
		b, err := a.TryGet(sluice.MinBlock)
		if err != nil {
			break
		}
		all = append(all, b)
	}
	return a, func() {
		for i := range all {
			all[i].Release()
		}
		all = nil
	}
}

func TestReaderWaitsForMemory(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "pipe", "reader"} {
		for _, call := range []struct {
			name string
			read func(r *sluice.BufReader) (string, error)
		}{
			{"ReadByte", func(r *sluice.BufReader) (string, error) { c, err := r.ReadByte(); return string(c), err }},
			{"Next", func(r *sluice.BufReader) (string, error) { p, err := r.Next(10); return string(p), err }},
			{"ReadBytes", readBytesString(1000)},
			{"Read", func(r *sluice.BufReader) (string, error) {
				p := make([]byte, 1)
				n, err := r.Read(p)
				return string(p[:n]), err
			}},
		} {
			t.Run(network+"/"+call.name, func(t *testing.T) {
				a, free := usedUp(t, 128<<10)
				text := strings.Repeat("x", 1000)
				var src io.Reader = strings.NewReader(text)
				if network != "reader" {
					near, far := streamPair(t, network)
					send(t, far, []byte(text), every(1000))
					src = near
				}
				r := readerOf(t, a, 0, src)
				var got string
				var err error
				done := waits(t, func(r *sluice.BufReader) { got, err = call.read(r) }, r)
				if n := a.Stats().Budget.Waiting; n > 1 {
					t.Errorf("%d wait for memory", n)
				}
				free()
				done()
				if err != nil || got == "" || strings.Trim(got, "x") != "" {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
	}
}

func TestCloseEndsAWaitForMemory(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		a, free := usedUp(t, 64<<10)
		near, far := streamPair(t, network)
		r := readerOf(t, a, 0, near)
		write(t, far, "x")
		var err error
		done := waits(t, func(r *sluice.BufReader) { _, err = r.ReadByte() }, r)
		_ = near.Close()
		done()
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: %v", network, err)
		}
		free()
	}
}

func TestContextEndsAWaitForMemory(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "pipe", "reader"} {
		a, free := usedUp(t, 64<<10)
		var src io.Reader = strings.NewReader("x")
		if network != "reader" {
			near, far := streamPair(t, network)
			goTest(t, func() { write(t, far, "x") })
			src = near
		}
		r := readerOf(t, a, 0, src)
		ctx, cancel := context.WithCancelCause(t.Context())
		r.SetContext(ctx)
		var err error
		done := waits(t, func(r *sluice.BufReader) { _, err = r.ReadByte() }, r)
		cancel(errCause)
		done()
		if !errors.Is(err, errCause) {
			t.Errorf("%s: %v", network, err)
		}
		free()
		r.SetContext(context.Background())
		mustReadByte(t, r, 'x')
	}
}

func TestTimeoutEndsAWaitForMemory(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "pipe"} {
		a, free := usedUp(t, 64<<10)
		near, far := streamPair(t, network)
		goTest(t, func() { write(t, far, "x") })
		r := readerOf(t, a, 0, near)
		if err := r.SetTimeout(time.Millisecond); err != nil {
			t.Fatal(err)
		}
		_, err := r.ReadByte()
		var ne net.Error
		if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &ne) || !ne.Timeout() {
			t.Errorf("%s: %v", network, err)
		}
		free()
		if err := r.SetTimeout(0); err != nil {
			t.Fatal(err)
		}
		mustReadByte(t, r, 'x')
	}
}

// TestReaderThatHoldsPartOfAFrameWaitsForMore: it keeps what it has, and its
// place in the queue.
func TestReaderThatHoldsPartOfAFrameWaitsForMore(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "pipe", "reader"} {
		for _, c := range repeatable {
			if len(c.text) < 5000 {
				continue
			}
			t.Run(network+"/"+c.name, func(t *testing.T) {
				a := watched(t, 1<<20)
				var src io.Reader = &pieces{data: []byte(c.text), next: every(1000)}
				if network != "reader" {
					near, far := streamPair(t, network)
					send(t, far, []byte(c.text), every(len(c.text)))
					src = near
				}
				r := readerOf(t, a, 0, src)
				if _, err := r.Peek(500); err != nil {
					t.Fatal(err)
				}
				// Take all the rest of the budget.
				var all []mem.Buf
				for _, n := range []int{16 << 10, 256} {
					for b, err := a.TryGet(n); err == nil; b, err = a.TryGet(n) {
						all = append(all, b)
					}
				}
				var got string
				var err error
				done := waits(t, func(r *sluice.BufReader) { got, err = c.call(r) }, r)
				if n := a.Stats().Budget.Waiting; n != 1 {
					t.Errorf("%d wait for memory", n)
				}
				for i := range all {
					all[i].Release()
				}
				done()
				if err != nil || got != c.want {
					t.Errorf("%.20q (%d bytes), %v", got, len(got), err)
				}
			})
		}
	}
}

// TestSmallBudgetIsEnoughForSmallFrames: a budget that has no room for the
// block that a flood would get is no reason to fail.
func TestSmallBudgetIsEnoughForSmallFrames(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "reader"} {
		for _, budget := range []int64{2 << 10, 16 << 10, 40 << 10} {
			a := watched(t, budget)
			data := testData(1 << 18)
			var src io.Reader = bytes.NewReader(data)
			if network != "reader" {
				near, far := streamPair(t, network)
				send(t, far, data, every(1<<18))
				src = near
			}
			r := readerOf(t, a, 0, src)
			for at := 0; at < len(data); at += 512 {
				p, err := r.Next(512)
				if err != nil || !bytes.Equal(p, data[at:at+512]) {
					t.Errorf("%s, %d bytes of budget: at %d: %v", network, budget, at, err)
					break
				}
			}
		}
	}
}

func TestReadersShareABudget(t *testing.T) {
	const budget = 200 << 10
	a := watched(t, budget)
	data := testData(1 << 20)
	var group sync.WaitGroup
	for range 10 {
		near, far := tcpPair(t)
		send(t, far, data, every(50_000))
		r := readerOf(t, a, 0, near)
		group.Go(func() {
			at := 0
			for at < len(data) {
				b, err := r.ReadBuf(1024)
				if err != nil || !bytes.Equal(b.Bytes(), data[at:at+1024]) {
					t.Errorf("at %d: %v", at, err)
					return
				}
				b.Release()
				at += 1024
			}
			r.Recycle()
		})
	}
	stop := make(chan struct{})
	goTest(t, func() {
		for {
			select {
			case <-stop:
				return
			default:
				// One block for each processor is what may be over for a moment.
				if out := a.Stats().OutBytes; out > budget+4*sluice.MaxBlock {
					t.Errorf("%d bytes are checked out on a budget of %d", out, budget)
					return
				}
			}
		}
	})
	within(t, "reading by ten readers", group.Wait)
	close(stop)
}

// TestEmptyFramesWaitForNoMemory: a heartbeat needs none, and is no reason for
// an error while others have the budget.
func TestEmptyFramesWaitForNoMemory(t *testing.T) {
	for name, read := range map[string]func(r *sluice.BufReader) (mem.Buf, error){
		"ReadFrame": func(r *sluice.BufReader) (mem.Buf, error) { return r.ReadFrame(4, binary.BigEndian, 0) },
		"ReadBuf": func(r *sluice.BufReader) (mem.Buf, error) {
			n, err := r.ReadBE(4)
			if err != nil {
				return mem.Buf{}, err
			}
			return r.ReadBuf(n)
		},
		"ReadBufs": func(r *sluice.BufReader) (mem.Buf, error) {
			n, err := r.ReadBE(4)
			if err != nil {
				return mem.Buf{}, err
			}
			var dst [2]mem.Buf
			err = r.ReadBufs(n, dst[:])
			if err == nil {
				dst[1].Release()
			}
			return dst[0], err //sluice:moved
		},
	} {
		a := watched(t, 64<<10)
		r := readerOf(t, a, 0, strings.NewReader(string(make([]byte, 8))))
		if _, err := r.Peek(1); err != nil {
			t.Fatal(err)
		}
		var all []mem.Buf
		for b, err := a.TryGet(sluice.MinBlock); err == nil; b, err = a.TryGet(sluice.MinBlock) {
			all = append(all, b)
		}
		for i := range 2 {
			b, err := read(r)
			if err != nil || b.Len() != 0 {
				t.Fatalf("%s, frame %d: %v", name, i, err)
			}
			b.Release()
		}
		for i := range all {
			all[i].Release()
		}
	}
}

// TestAnEmptyBufWaitsLikeOthers where nothing has been read yet.
func TestAnEmptyBufWaitsLikeOthers(t *testing.T) {
	a, free := usedUp(t, 64<<10)
	r := readerOf(t, a, 0, strings.NewReader("x"))
	var b mem.Buf
	var err error
	done := waits(t, func(r *sluice.BufReader) { b, err = r.ReadBuf(0) }, r)
	free()
	done()
	if err != nil || b.Len() != 0 {
		t.Fatal(err)
	}
	b.Release()
	mustReadByte(t, r, 'x')
}

// TestUnreadByteAsksNoBudget: callers of bufio's ignore its error.
func TestUnreadByteAsksNoBudget(t *testing.T) {
	a := watched(t, 64<<10)
	r := readerOf(t, a, 0, strings.NewReader("x"))
	mustReadByte(t, r, 'x')
	if _, err := r.ReadByte(); err != io.EOF {
		t.Fatal(err)
	}
	var all []mem.Buf
	for b, err := a.TryGet(sluice.MinBlock); err == nil; b, err = a.TryGet(sluice.MinBlock) {
		all = append(all, b)
	}
	if err := r.UnreadByte(); err != nil {
		t.Error(err)
	} else {
		mustReadByte(t, r, 'x')
	}
	for i := range all {
		all[i].Release()
	}
}
