package aio_test

import (
	"bytes"
	"io"
	"net"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

func init() {
	suite = append(suite,
		behaviour{name: "a read without a buffer returns one of the watcher's", run: swapBuffer, on: everyConn, everyCut: true},
		behaviour{name: "the watcher's buffers stay until the next WaitIO", run: swapBufferStays},
		behaviour{name: "the watcher's buffers are each connection's own", run: swapBufferOwn},
		behaviour{name: "a read into the watcher's memory wakes WaitIO", run: ownMemoryWakes, options: func(o *aio.Options) { o.BufferSize = 1000 }},
		behaviour{name: "BufferSize bounds a read without a buffer", run: swapBufferBounded, options: func(o *aio.Options) { o.BufferSize = 1000 }},
		behaviour{name: "an idle read without a buffer holds no memory", run: idleReadHoldsNothing, needs: idleFree},
		behaviour{name: "ReadBuf is retained", run: readBufRetained, on: everyConn, everyCut: true},
		behaviour{name: "ReadBuf reads at most what is asked for", run: readBufBounded, on: append(streams, "pipe")},
		behaviour{name: "ReadBuf beyond the budget loses nothing", run: readBufBudget, options: func(o *aio.Options) {
			o.Allocator = mem.New(mem.Options{Name: "conformance", Budget: budget, Leak: mem.LeakParanoid})
		}},
		behaviour{name: "messages keep their bounds", run: messageBounds, on: []string{"unixpacket"}},
		behaviour{name: "large messages come whole", run: largeMessages, on: []string{"unixpacket"}},
	)
}

func swapBuffer(f *fixture) {
	near, far := f.pair()
	data := f.bytes(f.enough())
	f.send(far, data)
	got := f.collect(len(data), func(int) *op { return f.readNil(near) })
	if !bytes.Equal(got, data) {
		f.Error("what was read is not what was sent")
	}
	for _, o := range f.completed {
		if !o.res.IsSwapBuffer || o.res.Buf.Valid() || o.res.Size > aio.DefaultBufferSize {
			f.Errorf("%v: IsSwapBuffer %v, a Buf %v, %d bytes", o, o.res.IsSwapBuffer, o.res.Buf.Valid(), o.res.Size)
		}
	}
}

// swapBufferStays reads on other connections and on the same one, of which the
// bytes are there already, before it looks at what it has got.
func swapBufferStays(f *fixture) {
	const n, size = 20, 2000
	near, far := f.pairs(n + 1)
	data := make([][]byte, n+1)
	for i := range near {
		data[i] = f.bytes(size)
	}
	for range 10 {
		first := f.readNil(near[n])
		f.sendAll(far[n], data[n])
		for i := range n {
			f.sendAll(far[i], data[i])
		}
		results, err := f.next()
		if err != nil || !first.done {
			f.Fatalf("%d results, %v", len(results), err)
		}
		lent := results[0].Buffer
		if !bytes.Equal(lent, data[n][:len(lent)]) {
			f.Fatal("what was read is not what was sent")
		}
		var later []*op
		for i := range n {
			later = append(later, f.readNil(near[i]), f.write(near[i], []byte{0}))
		}
		more := f.readNil(near[n])
		f.sendAll(far[n], data[n])
		if !bytes.Equal(lent, data[n][:len(lent)]) || len(results) != 1 || results[0].Context != first {
			f.Fatal("results changed before the next WaitIO")
		}
		f.wait(later...)
		f.wait(more)
		for i := range n {
			rest := size - later[2*i].res.Size
			f.collect(rest, func(left int) *op { return f.read(near[i], left) })
		}
		rest := 2*size - first.res.Size - more.res.Size
		f.collect(rest, func(left int) *op { return f.read(near[n], left) })
	}
}

// swapBufferOwn looks at a batch as a whole, when all of it has been read.
func swapBufferOwn(f *fixture) {
	const n, size = 40, 3000
	near, far := f.pairs(n)
	largest := 0
	for range 20 {
		data := make([][]byte, n)
		left := make([]int, n)
		before := f.w.Stats().Reads
		for i := range n {
			data[i] = bytes.Repeat([]byte{byte(i)}, size)
			left[i] = size
			f.readNil(near[i])
		}
		for i := range n {
			f.sendAll(far[i], data[i])
		}
		if f.driver == aio.Std {
			// Else this goroutine may run whenever one of the driver's has read.
			f.eventually("two reads to be in the batch", func() bool { return f.w.Stats().Reads >= before+2 })
		}
		for open := n; open > 0; {
			results, err := f.next()
			if err != nil {
				f.Fatal(err)
			}
			largest = max(largest, len(results))
			for _, r := range results {
				i := int(r.Buffer[0])
				if r.Conn != near[i] || !bytes.Equal(r.Buffer, data[i][:len(r.Buffer)]) {
					f.Fatalf("in a batch of %d: a buffer has bytes of connection %d and of others", len(results), i)
				}
				if left[i] -= r.Size; left[i] == 0 {
					open--
				} else {
					f.readNil(near[i])
				}
			}
		}
	}
	if largest < 2 {
		f.Errorf("the largest of the batches had %d results: that shows nothing", largest)
	}
}

// ownMemoryWakes submits reads that can complete at once while a goroutine sleeps
// in WaitIO. The kernel does not wake it, because no new data has come.
func ownMemoryWakes(f *fixture) {
	near, far := f.pair()
	data := f.bytes(10_000)
	f.sendAll(far, data)
	got := f.collect(10, func(int) *op { return f.read(near, 10) })
	for i := 0; len(got) < len(data); i++ {
		f.park()
		var o *op
		if i%2 == 0 {
			o = f.readNil(near)
		} else {
			o = f.readBuf(near, 1000, time.Time{})
		}
		f.wait(o)
		f.wantError(o, nil)
		got = append(got, o.take()...)
		if left := min(10, len(data)-len(got)); left > 0 {
			got = append(got, f.collect(left, func(n int) *op { return f.read(near, n) })...)
		}
	}
	if !bytes.Equal(got, data) {
		f.Error("what was read is not what was sent")
	}
}

func swapBufferBounded(f *fixture) {
	near, far := f.pair()
	data := f.bytes(20_000)
	f.send(far, data)
	got := f.collect(len(data), func(int) *op { return f.readNil(near) })
	if !bytes.Equal(got, data) {
		f.Error("what was read is not what was sent")
	}
	for _, o := range f.completed {
		if o.res.Size > 1000 {
			f.Errorf("%v returned %d bytes, BufferSize is 1000", o, o.res.Size)
		}
	}
}

// idleReadHoldsNothing: and what was lent goes back.
func idleReadHoldsNothing(f *fixture) {
	const n = 50
	near, far := f.pairs(n)
	for range 3 {
		var ops []*op
		for i := range n {
			ops = append(ops, f.readNil(near[i]))
		}
		var bufs []*op
		other, farOther := f.pair()
		bufs = append(bufs, f.readBuf(other, 0, time.Time{}))
		f.park()
		if out := f.alloc.Stats().OutBytes; out != 0 {
			f.Errorf("%d reads wait and hold %d bytes", n+1, out)
		}
		for i := range n {
			f.sendAll(far[i], []byte{1})
		}
		f.sendAll(farOther, []byte{1})
		f.wait(ops...)
		f.wait(bufs...)
		bufs[0].take()
	}
}

// readBufRetained keeps all that it has read until the end.
func readBufRetained(f *fixture) {
	near, far := f.pair()
	data := f.bytes(f.enough())
	f.send(far, data)
	var kept []*op
	for left := len(data); left > 0; {
		o := f.readBuf(near, f.rand.IntN(2)*(1+f.rand.IntN(5000)), time.Time{})
		f.wait(o)
		f.wantError(o, nil)
		kept = append(kept, o)
		left -= o.res.Size
	}
	marker := f.readTimeout(f.idleConn(), 1, time.Now())
	f.wait(marker)
	var got []byte
	for _, o := range kept {
		if !bytes.Equal(o.res.Buf.Bytes(), o.res.Buffer) {
			f.Error("Buffer is not a view of Buf")
		}
		got = append(got, o.take()...)
	}
	if !bytes.Equal(got, data) {
		f.Error("what was kept is not what was sent")
	}
}

func readBufBounded(f *fixture) {
	near, far := f.pair()
	data := f.bytes(20_000)
	f.send(far, data)
	for rest := data; len(rest) > 0; {
		n := 1 + f.rand.IntN(3000)
		o := f.readBuf(near, n, time.Time{})
		f.wait(o)
		if f.wantError(o, nil); o.res.Size > n {
			f.Errorf("%v returned %d bytes", o, o.res.Size)
		}
		got := o.take()
		if !bytes.HasPrefix(rest, got) {
			f.Fatal("what was read is not what was sent")
		}
		rest = rest[len(got):]
	}
	f.wantPanic("aio: ", func() { _ = f.w.ReadBuf(nil, near, -1, time.Time{}) })
}

// wantPanic checks that a caller's bug panics, and says whose.
func (f *fixture) wantPanic(prefix string, do func()) {
	f.Helper()
	defer func() {
		f.Helper()
		if s, ok := recover().(string); !ok || len(s) < len(prefix) || s[:len(prefix)] != prefix {
			f.Errorf("it panicked with %q, want %q and more", s, prefix)
		}
	}()
	do()
}

// budget is what the allocator of readBufBudget has, in bytes.
const budget = 1 << 20

// readBufBudget has the program hold all of the budget for a while.
func readBufBudget(f *fixture) {
	near, far := f.pair()
	data := f.bytes(50_000)
	all := f.alloc.Get(budget)
	f.sendAll(far, data)
	for range 3 {
		o := f.readBuf(near, 1000, time.Time{})
		f.wait(o)
		f.wantError(o, mem.ErrBudget)
		if o.res.Size != 0 || o.res.Buf.Valid() {
			f.Errorf("%d bytes were read without memory", o.res.Size)
		}
	}
	all.Release()
	got := f.collect(len(data), func(int) *op { return f.readBuf(near, 0, time.Time{}) })
	if !bytes.Equal(got, data) {
		f.Error("bytes were lost, or came twice")
	}
}

// messageBounds reads messages into buffers that are larger than they are.
func messageBounds(f *fixture) {
	near, far := f.pair()
	var want [][]byte
	for i := range 40 {
		want = append(want, f.bytes(1+100*i))
	}
	read := func(i int) *op {
		switch i % 3 {
		case 0:
			return f.readNil(near)
		case 1:
			return f.readBuf(near, 10_000, time.Time{})
		default:
			return f.read(near, 10_000)
		}
	}
	var ops []*op
	for i := range 20 {
		ops = append(ops, read(i))
	}
	f.background("the peer sends", func() error {
		for _, m := range want {
			if _, err := far.Write(m); err != nil {
				return err
			}
		}
		return nil
	})
	for i, m := range want {
		if i >= len(ops) {
			ops = append(ops, read(i))
		}
		f.wait(ops[i])
		f.wantError(ops[i], nil)
		if got := ops[i].take(); !bytes.Equal(got, m) {
			f.Fatalf("message %d has %d bytes, want %d", i, len(got), len(m))
		}
	}
	for i, m := range want {
		// Two writes are two messages, also when both wait.
		next := want[(i+1)%len(want)]
		f.wait(f.write(near, m), f.writeBuf(near, f.bufOf(next), time.Time{}))
		for _, m := range [][]byte{m, next} {
			got := make([]byte, 10_000)
			if n, err := far.Read(got); err != nil || !bytes.Equal(got[:n], m) {
				f.Fatalf("the peer read a message of %d bytes, %v, want %d", n, err, len(m))
			}
		}
	}
	if err := far.Close(); err != nil {
		f.Fatal(err)
	}
	o := f.readNil(near)
	f.wait(o)
	f.wantError(o, io.EOF)
}

// largeMessages has many of them come at once. A buffer that is what others
// have left would cut them.
func largeMessages(f *fixture) {
	const n, size = 12, 40_000
	near, far := f.pairs(n)
	for _, read := range []func(net.Conn) *op{
		f.readNil,
		func(conn net.Conn) *op { return f.readBuf(conn, 0, time.Time{}) },
	} {
		var ops []*op
		var data [][]byte
		for i := range n {
			data = append(data, f.bytes(size+i))
			ops = append(ops, read(near[i]))
		}
		for i := range n {
			f.sendAll(far[i], data[i])
		}
		f.wait(ops...)
		for i, o := range ops {
			f.wantError(o, nil)
			if got := o.take(); !bytes.Equal(got, data[i]) {
				f.Errorf("%v: a message of %d bytes came as %d", o, len(data[i]), len(got))
			}
		}
	}
}
