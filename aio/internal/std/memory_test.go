package std

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

func (x *fixture) wantHeld(atMost int64) {
	x.Helper()
	x.eventually("little memory is held", func() bool { return x.alloc.Stats().OutBytes <= atMost })
}

func TestWaitsForBytesWithLittleMemory(t *testing.T) {
	x := newFixture(t, op.Settings{})
	const n = 100
	for i := range n {
		near, _ := x.pipe()
		if i%2 == 0 {
			x.must(x.w.Read(nil, near, nil))
		} else {
			x.must(x.w.ReadBuf(nil, near, 64<<10, time.Time{}))
		}
	}
	x.wantGoroutines(n)
	x.fence()
	if s := x.alloc.Stats(); s.CheckedOut != 0 {
		t.Errorf("%d reads hold %d bytes of the allocator", n, s.OutBytes)
	}
	for _, c := range x.d.table.conns {
		if len(c.reads.wait) > leastRoom {
			t.Errorf("a read waits in %d bytes", len(c.reads.wait))
		}
	}
}

func TestReadsGrowWithTheConnection(t *testing.T) {
	for _, c := range []struct {
		name    string
		size    int
		wrap    func(*net.TCPConn) net.Conn
		largest int
		rests   bool // others complete between two reads, as where a gateway's other side is slow
	}{
		{"socket", 0, func(c *net.TCPConn) net.Conn { return c }, 64 << 10, false},
		{"socket that rests", 0, func(c *net.TCPConn) net.Conn { return c }, 64 << 10, true},
		{"socket with a small BufferSize", 1000, func(c *net.TCPConn) net.Conn { return c }, 1000, false},
		{"socket with a tiny BufferSize", 100, func(c *net.TCPConn) net.Conn { return c }, 100, false},
		{"wrapper", 0, func(c *net.TCPConn) net.Conn { return struct{ net.Conn }{c} }, mostHeld, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newFixture(t, op.Settings{BufferSize: c.size})
			near, far := x.tcp()
			conn := c.wrap(near)
			data := patterned(4 << 20)
			go far.Write(data)
			var got []byte
			largest, reads := 0, 0
			for len(got) < len(data) {
				x.must(x.w.Read(nil, conn, nil))
				r := x.one()
				x.must(r.Error)
				got = append(got, r.Buffer...)
				largest = max(largest, r.Size)
				reads++
				if c.rests {
					x.wantGoroutines(0)
					x.sweep()
				}
			}
			if !bytes.Equal(got, data) {
				t.Error("other bytes came than were sent")
			}
			if largest != c.largest {
				t.Errorf("the largest of %d reads has %d bytes, want %d", reads, largest, c.largest)
			}
			// It falls silent: most of the memory goes back.
			x.must(x.w.Read("silent", conn, nil))
			x.fence()
			x.wantHeld(0)
			x.fence()
			if got := x.alloc.Stats().OutBytes; got > 0 {
				t.Errorf("a silent connection holds %d bytes", got)
			}
			_, err := far.Write([]byte("abc"))
			x.must(err)
			x.wantOne("silent", nil, 3)
		})
	}
}

func TestReadWithoutABufferIsBorrowedUntilTheNextWaitIO(t *testing.T) {
	x := newFixture(t, op.Settings{Allocator: mem.New(mem.Options{Leak: mem.LeakParanoid})})
	near, far := x.pipe()
	x.must(x.w.Read("read", near, nil))
	go far.Write([]byte("abc"))
	r := x.one()
	x.must(x.w.Read("next", near, make([]byte, 10)))
	if string(r.Buffer) != "abc" || !r.IsSwapBuffer || cap(r.Buffer) != 3 {
		t.Errorf("the buffer has %q", r.Buffer)
	}
	if s := x.alloc.Stats(); s.CheckedOut != 1 {
		t.Errorf("%d blocks are out", s.CheckedOut)
	}
	b := r.Buffer
	go far.Write([]byte("d"))
	x.wantOne("next", nil, 1)
	if s := x.alloc.Stats(); s.CheckedOut != 0 {
		t.Errorf("%d blocks are out after the next WaitIO", s.CheckedOut)
	}
	if string(b) == "abc" {
		t.Error("the memory is not back with its allocator, which poisons it")
	}
}

func TestResultsOfAClosedWatcherNeedNoMoreWaitIO(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.pipe()
	x.must(x.w.Read("read", near, nil))
	_, err := far.Write([]byte("abc"))
	x.must(err)
	x.eventually("it has completed", func() bool { return x.w.Stats().Reads == 1 })
	x.must(x.w.Close())
	if s := x.alloc.Stats(); s.CheckedOut != 0 {
		t.Errorf("%d blocks are out after Close", s.CheckedOut)
	}
	results, err := x.next()
	if len(results) != 1 || err != op.ErrWatcherClosed || string(results[0].Buffer) != "abc" || results[0].Error != nil {
		t.Errorf("WaitIO: %+v, %v", results, err)
	}
}

func TestBytesThatCameWhileClosingNeedNoMoreWaitIO(t *testing.T) {
	x := newFixture(t, op.Settings{})
	c := newScripted()
	reading := make(chan struct{})
	c.read = func(p []byte) (int, error) {
		close(reading)
		<-c.closed
		return copy(p, "abc"), nil
	}
	x.must(x.w.Read("read", c, nil))
	<-reading
	x.must(x.w.Close())
	if s := x.alloc.Stats(); s.CheckedOut != 0 {
		t.Errorf("%d blocks are out after Close", s.CheckedOut)
	}
	results, err := x.next()
	if len(results) != 1 || err != op.ErrWatcherClosed || string(results[0].Buffer) != "abc" || results[0].Error != op.ErrWatcherClosed {
		t.Errorf("WaitIO: %+v, %v", results, err)
	}
}

func TestReadBufIsRetainedAndSmall(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.tcp()
	go far.Write(patterned(1 << 20))
	for got := 0; got < 1<<20; {
		x.must(x.w.ReadBuf(nil, near, 0, time.Time{}))
		r := x.one()
		x.must(r.Error)
		got += r.Buf.Len()
		r.Buf.Release()
	}
	_, err := far.Write([]byte("abc"))
	x.must(err)
	x.must(x.w.ReadBuf("small", near, 0, time.Time{}))
	small := x.wantOne("small", nil, 3)
	if s := x.alloc.Stats(); s.OutBytes > leastRoom {
		t.Errorf("3 bytes hold %d", s.OutBytes)
	}
	_, err = far.Write([]byte("defghi"))
	x.must(err)
	x.must(x.w.ReadBuf("at most 2", near, 2, time.Time{}))
	r := x.wantOne("at most 2", nil, 2)
	if string(small.Buf.Bytes()) != "abc" || string(r.Buf.Bytes()) != "de" || &r.Buffer[0] != &r.Buf.Bytes()[0] {
		t.Errorf("%q and %q", small.Buf.Bytes(), r.Buf.Bytes())
	}
	small.Buf.Release()
	r.Buf.Release()
}

func TestReadBufRespectsTheBudget(t *testing.T) {
	x := newFixture(t, op.Settings{Allocator: mem.New(mem.Options{Budget: 4096})})
	near, far := x.pipe()
	all := x.alloc.Get(4096)
	x.must(x.w.ReadBuf("refused", near, 100, time.Time{}))
	x.fence()
	go far.Write([]byte("abc"))
	x.wantOne("refused", mem.ErrBudget, 0)
	all.Release()
	x.must(x.w.ReadBuf("again", near, 100, time.Time{}))
	r := x.wantOne("again", nil, 3)
	r.Buf.Release()
}

func TestReadBufMakesDoWithLittleOfTheBudget(t *testing.T) {
	x := newFixture(t, op.Settings{Allocator: mem.New(mem.Options{Budget: 8192})})
	near, far := x.tcp()
	data := patterned(200_000)
	go far.Write(data)
	most := x.alloc.Get(6144 - 2048) // 4 KiB: what a grown read would take is not left
	defer most.Release()
	var got []byte
	for len(got) < len(data) {
		x.must(x.w.ReadBuf(nil, near, 0, time.Time{}))
		r := x.one()
		x.must(r.Error)
		got = append(got, r.Buf.Bytes()...)
		r.Buf.Release()
	}
	if !bytes.Equal(got, data) {
		t.Error("other bytes came than were sent")
	}
}

func TestReadsThatBringNothing(t *testing.T) {
	x := newFixture(t, op.Settings{})
	c := newScripted()
	c.read = func(p []byte) (int, error) { return 0, nil }
	x.must(x.w.Read("nothing", c, nil))
	x.wantOne("nothing", io.ErrNoProgress, 0)
	c = newScripted()
	c.read = func(p []byte) (int, error) { return len(p) + 1, nil }
	x.must(x.w.Read("too much", c, make([]byte, 4)))
	if r := x.one(); r.Error == nil || r.Size != 0 {
		t.Errorf("a Read that returned 5 of 4: %d, %v", r.Size, r.Error)
	}
	c = newScripted()
	c.read = func(p []byte) (int, error) { return copy(p, "abc"), io.EOF }
	x.must(x.w.Read("data with its end", c, make([]byte, 4)))
	x.wantOne("data with its end", nil, 3)
	x.must(x.w.ReadFull("not full", c, make([]byte, 4), time.Time{}))
	if r := x.one(); !errors.Is(r.Error, io.EOF) || r.Size != 3 {
		t.Errorf("%d, %v", r.Size, r.Error)
	}
}

// What a read has brought before Close is the program's own then, and as long as its bytes.
func TestWhatCloseHandsOutHasNoRoomBehind(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.tcp()
	x.must(x.w.Read(nil, near, nil))
	if _, err := far.Write(make([]byte, 329)); err != nil {
		t.Fatal(err)
	}
	x.eventually("the read is complete", func() bool { return x.w.Counters().Reads == 1 })
	x.w.Close()
	results, err := x.next()
	if err != op.ErrWatcherClosed || len(results) != 1 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	if b := results[0].Buffer; len(b) != 329 || cap(b) != 329 {
		t.Errorf("%d bytes with room for %d", len(b), cap(b))
	}
}
