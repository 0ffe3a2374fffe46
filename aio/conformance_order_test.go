package aio_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/sluice-go/sluice/mem"
)

func init() {
	suite = append(suite,
		behaviour{name: "reads of every kind complete in order", run: readsInOrder, on: everyConn, everyCut: true},
		behaviour{name: "reads are tried when submitted and when waited for", run: readsOneByOne, on: everyConn, everyCut: true},
		behaviour{name: "ReadFull fills its buffer", run: fullReads, on: everyConn, everyCut: true},
		behaviour{name: "writes of every kind go out in order", run: writesInOrder, on: everyConn},
		behaviour{name: "both ways at once", run: bothWays, on: everyConn, everyCut: true},
		behaviour{name: "a write completes when all is out", run: writeCompletesWhenOut, on: append(streams, "tls")},
		behaviour{name: "a write is reported when it is out, and those behind it are not", run: writeReportedEarly},
		behaviour{name: "the rest of a write goes out in WaitIO", run: restGoesOutInWaitIO},
		behaviour{name: "a batch holds results of many connections", run: manyConnections, on: everyConn},
	)
}

// anyRead submits a read of a kind that chance chooses.
func (f *fixture) anyRead(conn net.Conn, left int) *op {
	f.Helper()
	n := 1 + f.rand.IntN(4096)
	switch f.rand.IntN(4) {
	case 0:
		return f.readFull(conn, min(n, left), time.Time{})
	case 1:
		return f.readNil(conn)
	case 2:
		return f.readBuf(conn, n*f.rand.IntN(2), time.Time{})
	default:
		return f.read(conn, n)
	}
}

// anyWrite submits a write of a kind that chance chooses.
func (f *fixture) anyWrite(conn net.Conn, data []byte) *op {
	f.Helper()
	switch f.rand.IntN(3) {
	case 0:
		return f.writeBuf(conn, f.bufOf(data), time.Time{})
	case 1:
		return f.writeMemory(conn, f.memoryOf(data, 1+f.rand.IntN(2000)), time.Time{})
	default:
		return f.write(conn, data)
	}
}

func (f *fixture) bufOf(data []byte) mem.Buf {
	b := f.alloc.Get(len(data))
	copy(b.Bytes(), data)
	return b
}

// memoryOf makes parts of up to part bytes.
func (f *fixture) memoryOf(data []byte, part int) *mem.Memory {
	m := mem.NewMemory()
	for len(data) > 0 {
		n := min(len(data), part)
		m.Append(f.bufOf(data[:n]))
		data = data[n:]
	}
	return m
}

// readsInOrder has many reads pending before the first byte comes. How many of
// them get some depends on what comes at once; the others see the end.
func readsInOrder(f *fixture) {
	near, far := f.pair()
	data := f.bytes(f.enough())
	var ops []*op
	for range 50 {
		ops = append(ops, f.anyRead(near, len(data)))
	}
	f.background("the peer sends and closes", func() error {
		return errors.Join(sendPieces(far, f.cut, data), far.Close())
	})
	var got []byte
	ended := false
	for i := 0; !ended; i++ {
		if i == len(ops) {
			ops = append(ops, f.anyRead(near, len(data)))
		}
		f.wait(ops[i])
		f.wantError(ops[i], nil, io.EOF)
		ended = ops[i].res.Error != nil
		got = append(got, ops[i].take()...)
	}
	if !bytes.Equal(got, data) {
		f.Errorf("%d bytes of %d were read, right: %v", len(got), len(data), bytes.Equal(got, data[:min(len(got), len(data))]))
	}
	f.wait(ops...)
	for _, o := range ops {
		if o.res.Error != nil && (o.res.Error != io.EOF || len(o.take()) > 0 && !bytes.HasSuffix(data, o.bytes())) {
			f.Errorf("%v after the end: %d bytes, %v", o, o.res.Size, o.res.Error)
		}
	}
}

// readsOneByOne submits each read when the one before has completed.
func readsOneByOne(f *fixture) {
	near, far := f.pair()
	data := f.bytes(f.enough())
	f.send(far, data)
	got := f.collect(len(data), func(left int) *op { return f.anyRead(near, left) })
	if !bytes.Equal(got, data) {
		f.Error("what was read is not what was sent")
	}
}

func fullReads(f *fixture) {
	near, far := f.pair()
	data := f.bytes(f.enough())
	f.send(far, data)
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 1+f.rand.IntN(len(data)/3))
		o := f.readFull(near, n, time.Time{})
		f.wait(o)
		f.wantError(o, nil)
		if o.res.Size != n || !bytes.Equal(o.buf, rest[:n]) {
			f.Fatalf("ReadFull of %d completed with %d bytes, right: %v", n, o.res.Size, bytes.Equal(o.buf, rest[:n]))
		}
		rest = rest[n:]
	}
}

func writesInOrder(f *fixture) {
	near, far := f.narrowPair()
	var all []byte
	var ops []*op
	for range 150 {
		// Some fit in whatever room there is, some do not.
		n := 1 + f.rand.IntN(1<<f.rand.IntN(17))
		data := f.bytes(n)
		all = append(all, data...)
		ops = append(ops, f.anyWrite(near, data))
	}
	f.receive(far, all)
	f.wait(ops...)
	for _, o := range ops {
		f.wantError(o, nil)
	}
}

// bothWays sends back what comes, while it comes.
func bothWays(f *fixture) {
	near, far := f.narrowPair()
	data := f.bytes(f.enough())
	f.send(far, data)
	received := f.receive(far, data)
	var writes []*op
	f.collect(len(data), func(left int) *op {
		// The echo of what the last read brought is submitted before the next.
		o := f.anyRead(near, left)
		f.wait(o)
		if o.res.Size > 0 {
			writes = append(writes, f.anyWrite(near, o.bytes()))
		}
		return o
	})
	f.wait(writes...)
	for _, o := range writes {
		f.wantError(o, nil)
	}
	<-received
}

// writeCompletesWhenOut reads slowly, and finds the completion to come when the
// last byte is in the hands of the kernel: neither before nor later.
func writeCompletesWhenOut(f *fixture) {
	near, far := f.narrowPair()
	data := f.bytes(tooMuch)
	o := f.write(near, data)
	f.loop.start()
	rest := data
	got := make([]byte, 20_000)
	for done := false; !done; {
		n, err := far.Read(got)
		if err != nil || !bytes.Equal(got[:n], rest[:n]) {
			f.Fatalf("the peer read %d bytes, %v, after %d", n, err, len(data)-len(rest))
		}
		rest = rest[n:]
		done = !f.parked() || len(rest) == 0
	}
	if _, err := f.join(); err != nil || !o.done {
		f.Fatalf("WaitIO returned %v, complete: %v", err, o.done)
	}
	f.wantError(o, nil)
	if len(rest) > tooMuch/2 {
		f.Errorf("the write was complete when the peer had not read %d of %d bytes", len(rest), tooMuch)
	}
	// No goroutine is in WaitIO now.
	f.receiveAll(far, rest)
}

// writeReportedEarly has the peer read just enough for a small write to go out.
// What waits behind that goes with it for as long as it can.
func writeReportedEarly(f *fixture) {
	const part, parts = 60_000, 10
	near, far := f.narrowPair()
	first, small, behind := f.bytes(tooMuch/2), f.bytes(1000), f.bytes(part*parts)
	a, b := f.write(near, first), f.write(near, small)
	var rest []*op
	for i := range parts {
		rest = append(rest, f.write(near, behind[i*part:][:part]))
	}
	all := slices.Concat(first, small, behind)
	// A socket takes no more before half of what it holds is gone, or all.
	f.loop.start()
	got := make([]byte, 10_000)
	for !a.done {
		n, err := far.Read(got)
		if err != nil || !bytes.Equal(got[:n], all[:n]) {
			f.Fatalf("the peer read what was not sent, %v", err)
		}
		if all = all[n:]; f.parked() && len(all) > len(small)+len(behind) {
			continue
		}
		f.wait(a)
	}
	more := 2 * part
	f.loop.start() // the kernel need not have all of that yet
	f.receiveAll(far, all[:more])
	f.wait(b)
	f.wantError(b, nil)
	if rest[parts-1].done {
		f.Error("everything is out: that shows nothing")
	}
	f.receive(far, all[more:])
	f.wait(rest...)
}

// restGoesOutInWaitIO has the peer read what the kernel holds first, so that the
// rest has to wait for a WaitIO that begins after the peer was ready.
func restGoesOutInWaitIO(f *fixture) {
	near, far := f.narrowPair()
	data := f.bytes(tooMuch)
	o := f.write(near, data)
	if s := f.w.Stats(); s.Pending != 1 || s.QueuedBytes <= 0 || s.QueuedBytes > tooMuch {
		f.Errorf("while a write of %d waits: Pending %d, QueuedBytes %d", tooMuch, s.Pending, s.QueuedBytes)
	}
	first := make([]byte, narrow)
	if _, err := io.ReadFull(far, first); err != nil || !bytes.Equal(first, data[:narrow]) {
		f.Fatalf("the peer read what was not sent, %v", err)
	}
	f.receive(far, data[narrow:])
	f.wait(o)
	f.wantError(o, nil)
	if s := f.w.Stats(); s.Pending != 0 || s.QueuedBytes != 0 || s.BytesWritten != tooMuch {
		f.Errorf("when all of %d bytes is out: Pending %d, QueuedBytes %d, BytesWritten %d", tooMuch, s.Pending, s.QueuedBytes, s.BytesWritten)
	}
}

func manyConnections(f *fixture) {
	const n = 30
	near, far := f.pairs(n)
	var reads []*op
	var data [n][]byte
	for i := range n {
		data[i] = f.bytes(1000)
		reads = append(reads, f.readFull(near[i], 1000, time.Time{}))
	}
	for i := range n {
		f.send(far[n-1-i], data[n-1-i])
	}
	f.wait(reads...)
	var writes []*op
	for i, o := range reads {
		f.wantError(o, nil)
		if !bytes.Equal(o.buf, data[i]) {
			f.Errorf("connection %d read what was sent to another", i)
		}
		f.receive(far[i], o.buf)
		writes = append(writes, f.anyWrite(near[i], o.buf))
	}
	f.wait(writes...)
	for _, o := range writes {
		f.wantError(o, nil)
	}
}
