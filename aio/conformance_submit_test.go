package aio_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

func init() {
	suite = append(suite,
		behaviour{name: "nothing to write is an error", run: emptyWrites, on: everyConn},
		behaviour{name: "many goroutines submit on one connection", run: manyOnOne, on: everyConn},
		behaviour{name: "many goroutines submit on many connections", run: manyOnMany, on: everyConn},
		behaviour{name: "first submissions race on one connection", run: firstSubmissionsRace, on: append(streams, "pipe")},
		behaviour{name: "connections of one type are told apart", run: toldApart, on: everyConn},
		behaviour{name: "wrappers are told apart", run: wrappersToldApart, on: onlyTCP},
		behaviour{name: "a connection that cannot be a key", run: unhashable, on: onlyTCP},
		behaviour{name: "a connection without a descriptor", run: withoutDescriptor, instead: refusedWithoutDescriptor, needs: anyConn, on: onlyTCP},
		behaviour{name: "a busy connection starves nobody", run: fairness, on: append(streams, "pipe")},
	)
}

func emptyWrites(f *fixture) {
	near, _ := f.pair()
	for name, err := range map[string]error{
		"Write of nil":          f.w.Write(nil, near, nil),
		"Write of nothing":      f.w.Write(nil, near, []byte{}),
		"WriteTimeout of nil":   f.w.WriteTimeout(nil, near, nil, never()),
		"WriteContext of nil":   f.w.WriteContext(f.Context(), nil, near, nil),
		"WriteBuf of nothing":   f.w.WriteBuf(nil, near, f.alloc.Get(0), time.Time{}),
		"WriteBuf of none":      f.w.WriteBuf(nil, near, mem.Buf{}, time.Time{}),
		"WriteMemory of none":   f.w.WriteMemory(nil, near, nil, time.Time{}),
		"WriteMemory of empty":  f.w.WriteMemory(nil, near, f.memoryOf(nil, 1), time.Time{}),
		"ReadFull into nil":     f.w.ReadFull(nil, near, nil, time.Time{}),
		"ReadFull into nothing": f.w.ReadFull(nil, near, []byte{}, time.Time{}),
	} {
		if !errors.Is(err, aio.ErrEmptyBuffer) {
			f.Errorf("%s: %v, want ErrEmptyBuffer", name, err)
		}
	}
	for name, write := range map[string]func(mem.Buf){
		"WriteBuf":  func(b mem.Buf) { _ = f.w.WriteBuf(nil, near, b, time.Time{}) },
		"WriteMany": func(b mem.Buf) { _, _ = f.w.WriteMany(nil, []net.Conn{near}, b, aio.SlowQueue) },
	} {
		released := f.alloc.Get(8)
		stale := released //sluicevet:ignore a mistake of the caller's
		released.Release()
		func() {
			defer func() {
				if recover() == nil {
					f.Errorf("%s takes a Buf that was released", name)
				}
			}()
			write(stale) //sluicevet:ignore a mistake of the caller's
		}()
	}
	if p := f.w.Stats().Pending; p != 0 {
		f.Errorf("%d operations are pending after submissions that were refused", p)
	}
}

// manyOnOne runs writers and readers in many goroutines on one connection, while
// another goroutine sleeps in WaitIO. Records of 8 bytes show that no write is torn.
func manyOnOne(f *fixture) {
	const writers, each = 8, 50
	near, far := f.pair()
	var mu sync.Mutex
	var ops []*op
	add := func(o *op) {
		mu.Lock()
		defer mu.Unlock()
		ops = append(ops, o)
	}
	f.park()
	var submitting sync.WaitGroup
	for i := range writers {
		submitting.Go(func() {
			for j := range each {
				record := binary.BigEndian.AppendUint64(nil, uint64(i*each+j))
				add(f.write(near, record))
				add(f.readFull(near, 8, time.Time{}))
			}
		})
	}
	// The peer sends back what it gets.
	f.background("the peer echoes", func() error {
		_, err := io.CopyN(far, far, writers*each*8)
		return err
	})
	f.promptly("submitting", submitting.Wait)
	f.wait(ops...)
	// The order within each goroutine is kept: what was read, in the order of
	// the reads, has each writer's records in their order.
	next := [writers]int{}
	for _, o := range f.completed {
		if f.wantError(o, nil); o.what == aio.OpWrite {
			continue
		}
		n := int(binary.BigEndian.Uint64(o.buf))
		if n/each >= writers || n%each != next[n/each] {
			f.Fatalf("record %d came when %d was next", n%each, next[n/each])
		}
		next[n/each]++
	}
}

func manyOnMany(f *fixture) {
	const conns, each = 16, 20
	near, far := f.pairs(conns)
	f.park()
	ops := make([][]*op, conns)
	var submitting sync.WaitGroup
	for i := range conns {
		data := f.bytes(each * 100)
		f.receive(far[i], data)
		submitting.Go(func() {
			for j := range each {
				ops[i] = append(ops[i], f.write(near[i], data[j*100:][:100]), f.readFull(near[i], 10, time.Time{}))
			}
		})
		f.background("the peer sends", func() error {
			_, err := far[i].Write(bytes.Repeat([]byte{byte(i)}, each*10))
			return err
		})
	}
	f.promptly("submitting", submitting.Wait)
	for i := range conns {
		f.wait(ops[i]...)
		for _, o := range ops[i] {
			f.wantError(o, nil)
			if o.what == aio.OpRead && !bytes.Equal(o.buf, bytes.Repeat([]byte{byte(i)}, 10)) {
				f.Fatalf("connection %d read %v", i, o.buf)
			}
		}
	}
}

// firstSubmissionsRace: one of them takes the connection over, and the others
// must find it taken.
func firstSubmissionsRace(f *fixture) {
	const submitters = 6
	for range 15 {
		near, far := f.pair()
		var ops [2 * submitters]*op
		var ready, submitting sync.WaitGroup
		ready.Add(submitters)
		for i := range submitters {
			submitting.Go(func() {
				ready.Done()
				ready.Wait()
				ops[2*i] = f.unbooked(near, aio.OpRead)
				ops[2*i+1] = f.unbooked(near, aio.OpWrite)
			})
		}
		f.background("the peer echoes", func() error {
			_, err := io.CopyN(far, far, submitters)
			return err
		})
		f.promptly("submitting", submitting.Wait)
		for _, o := range ops {
			f.wait(o)
			f.wantError(o, nil)
		}
		f.free(near)
	}
	if s := f.w.Stats(); s.Delegated != 15 {
		f.Errorf("15 connections were taken over %d times", s.Delegated)
	}
}

// unbooked submits an operation of one byte without a lock of the fixture
// around it, so that submissions meet in the watcher.
func (f *fixture) unbooked(conn net.Conn, what aio.OpType) *op {
	o := &op{name: what.String(), what: what, conn: conn, buf: make([]byte, 1), loose: true}
	f.mu.Lock()
	k := queueKey{conn, what}
	f.queues[k] = append(f.queues[k], o)
	f.pending++
	f.mu.Unlock()
	submit := f.w.Read
	if what == aio.OpWrite {
		submit = f.w.Write
	}
	if err := submit(o, conn, o.buf); err != nil {
		f.Errorf("%v was refused: %v", o, err)
	}
	return o
}

func toldApart(f *fixture) {
	const n = 100
	near, far := f.pairs(n)
	var ops []*op
	for i := range n {
		ops = append(ops, f.readFull(near[i], 4, time.Time{}))
	}
	for i := range n {
		f.send(far[n-1-i], []byte{byte(n - 1 - i), 1, 2, 3})
	}
	f.wait(ops...)
	for i, o := range ops {
		if f.wantError(o, nil); o.buf[0] != byte(i) {
			f.Errorf("connection %d read what was sent to %d", i, o.buf[0])
		}
	}
}

// Wrappers of the program, as a pointer and as a value: two values that are
// equal are one connection, wherever they lie.
type (
	pointerWrapper struct{ *net.TCPConn }
	valueWrapper   struct{ *net.TCPConn }
	wideWrapper    struct {
		*net.TCPConn
		name string
		n    int
	}
)

func wrappersToldApart(f *fixture) {
	const n = 100
	for kind, wrap := range map[string]func(c *net.TCPConn, i int) net.Conn{
		"value":        func(c *net.TCPConn, _ int) net.Conn { return valueWrapper{c} },
		"wide value":   func(c *net.TCPConn, i int) net.Conn { return wideWrapper{c, "peer", i} },
		"nested value": func(c *net.TCPConn, i int) net.Conn { return struct{ wideWrapper }{wideWrapper{c, "peer", i}} },
	} {
		conns, far := f.pairs(n)
		var ops []*op
		for range 2 {
			for i := range n {
				// Each submission makes its own copy of the value.
				ops = append(ops, f.readFull(wrap(conns[i].(*net.TCPConn), i), 1, time.Time{}))
			}
		}
		for i := range n {
			f.sendAll(far[i], []byte{byte(i), byte(i)})
		}
		f.wait(ops...)
		for i, o := range ops {
			if f.wantError(o, nil); o.buf[0] != byte(i%n) {
				f.Errorf("%s: connection %d read what was sent to %d", kind, i%n, o.buf[0])
			}
		}
		for i := range n {
			f.free(wrap(conns[i].(*net.TCPConn), i))
			f.wantEOF(far[i])
		}
	}
	f.pointerWrappers(n)
	s := f.w.Stats()
	if s.Delegated != 4*n || s.Freed != 4*n || s.Conns != 0 {
		f.Errorf("%d connections, each freed: %d taken over, %d freed, %d left", 4*n, s.Delegated, s.Freed, s.Conns)
	}
}

func (f *fixture) pointerWrappers(n int) {
	f.Helper()
	conns, far := f.pairs(n)
	var wrapped []net.Conn
	var ops []*op
	for i := range n {
		wrapped = append(wrapped, &pointerWrapper{conns[i].(*net.TCPConn)})
		ops = append(ops, f.readFull(wrapped[i], 1, time.Time{}))
		f.sendAll(far[i], []byte{byte(i)})
	}
	f.wait(ops...)
	for i, o := range ops {
		if f.wantError(o, nil); o.buf[0] != byte(i) {
			f.Errorf("pointer: connection %d read what was sent to %d", i, o.buf[0])
		}
		f.free(wrapped[i])
	}
}

// unhashable: no map can hold such a connection, which must not be a panic that
// comes out of the watcher's insides.
func unhashable(f *fixture) {
	type sliceWrapper struct {
		*net.TCPConn
		tags []string
	}
	near, _ := f.pair()
	if err := f.w.Read(nil, sliceWrapper{near.(*net.TCPConn), nil}, make([]byte, 1)); !errors.Is(err, aio.ErrUnsupported) {
		f.Errorf("a connection that cannot be compared: %v, want ErrUnsupported", err)
	}
}

// hiding is a connection that gives no descriptor: an embedded interface
// promotes the methods of net.Conn and no others.
type hiding struct{ net.Conn }

func withoutDescriptor(f *fixture) {
	inner, far := f.pair()
	near := &hiding{inner}
	o := f.read(near, 10)
	f.send(far, []byte("x"))
	w := f.write(near, []byte("y"))
	f.receive(far, []byte("y"))
	f.wait(o, w)
	f.wantError(o, nil)
	f.wantError(w, nil)
}

func refusedWithoutDescriptor(f *fixture) {
	inner, _ := f.pair()
	piped, farOfPiped := net.Pipe()
	defer func() { _ = piped.Close(); _ = farOfPiped.Close() }()
	for _, conn := range []net.Conn{&hiding{inner}, hiding{inner}, piped} {
		for _, want := range []error{aio.ErrUnsupported, aio.ErrNoRawConn} {
			f.wantRefused(conn, want)
		}
	}
	if s := f.w.Stats(); s.Conns != 0 || s.Pending != 0 {
		f.Errorf("connections were refused, and there are %d with %d operations", s.Conns, s.Pending)
	}
	// It still works for the program.
	go func() { _, _ = farOfPiped.Write([]byte{7}) }()
	b := make([]byte, 1)
	if _, err := io.ReadFull(piped, b); err != nil || b[0] != 7 {
		f.Errorf("a connection that was refused: %v, %v", b, err)
	}
}

// fairness has one connection on which a read always completes at once, and one
// on which a write does. Ten others have something to read: all of them are
// served after few rounds.
func fairness(f *fixture) {
	const n, most = 10, 5000
	source, farSource := f.pair()
	sink, farSink := f.pair()
	go func() { _, _ = io.Copy(farSource, endless{}) }()
	go func() { _, _ = io.Copy(io.Discard, farSink) }()
	busyRead, busyWrite := f.read(source, 64), f.write(sink, f.bytes(64))
	near, far := f.pairs(n)
	var slow []*op
	for i := range n {
		slow = append(slow, f.read(near[i], 16))
	}
	// Rounds count from when it has come: a driver with goroutines has read it by itself.
	for i := range n {
		<-f.send(far[i], []byte("once"))
	}
	for rounds := 0; ; rounds++ {
		left := 0
		for _, o := range slow {
			if !o.done {
				left++
			}
		}
		if left == 0 {
			break
		}
		if rounds > most {
			f.Fatalf("after %d rounds %d of %d connections have not been served", rounds, left, n)
		}
		if busyRead.done {
			f.wantError(busyRead, nil)
			busyRead = f.read(source, 64)
		}
		if busyWrite.done {
			f.wantError(busyWrite, nil)
			busyWrite = f.write(sink, f.bytes(64))
		}
		if _, err := f.next(); err != nil {
			f.Fatal(err)
		}
	}
}

// endless always has more.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
