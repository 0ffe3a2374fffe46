package aio_test

import (
	"bytes"
	"io"
	"net"
	"time"

	"github.com/sluice-go/sluice/aio"
)

func init() {
	suite = append(suite,
		behaviour{name: "a deadline that has passed", run: deadlinePassed, on: everyConn},
		behaviour{name: "a deadline that has passed loses no bytes", run: deadlinePassedWithData},
		behaviour{name: "a deadline ends a read, not sooner", run: deadlineEndsRead, on: everyConn},
		behaviour{name: "ReadFull delivers what came before the deadline", run: deadlineInReadFull, on: everyConn},
		behaviour{name: "a sooner deadline of a later operation", run: soonerDeadline, on: everyConn},
		behaviour{name: "a deadline that gets sooner while WaitIO sleeps", run: soonerWhileParked, on: append(streams, "pipe")},
		behaviour{name: "a deadline that is not reached", run: deadlineNotReached, on: everyConn},
		behaviour{name: "the zero time is no deadline", run: zeroIsNoDeadline},
		behaviour{name: "a deadline that is beyond all time", run: deadlineBeyondAllTime, on: everyConn},
		behaviour{name: "a deadline that the program had set before", run: deadlineOfTheProgram, on: everyConn},
		behaviour{name: "a deadline ends a write in the middle", run: deadlineInWrite},
		behaviour{name: "a deadline of a write that has not begun", run: deadlineOfQueuedWrite},
		behaviour{name: "many operations with one deadline", run: manyDeadlines},
	)
}

// soon is long enough for what must come before a deadline to be submitted, and
// short enough to be waited for.
const soon = 30 * time.Millisecond

// never is a deadline that no test reaches.
func never() time.Time { return time.Now().Add(time.Hour) }

func deadlinePassed(f *fixture) {
	near, far := f.pair()
	for _, past := range []time.Time{time.Now(), time.Now().Add(-time.Hour), time.Unix(1, 0)} {
		ops := []*op{f.readTimeout(near, 10, past), f.readFull(near, 10, past), f.readBuf(near, 10, past)}
		f.wait(ops...)
		for _, o := range ops {
			if f.wantError(o, aio.ErrDeadline); o.res.Size != 0 {
				f.Errorf("%v: %d bytes of nothing", o, o.res.Size)
			}
		}
	}
	// The connection has not suffered.
	o := f.read(near, 10)
	f.send(far, []byte("alive"))
	f.wait(o)
	f.wantError(o, nil)
	if !bytes.HasPrefix([]byte("alive"), o.bytes()) {
		f.Errorf("%q was read after deadlines", o.bytes())
	}
}

// deadlinePassedWithData does not say who wins, the deadline or the bytes, but
// every byte comes once.
func deadlinePassedWithData(f *fixture) {
	near, far := f.pair()
	data := f.bytes(1000)
	f.sendAll(far, data)
	var got []byte
	for i := range 30 {
		around := time.Now().Add(time.Duration(i-15) * time.Microsecond)
		o := f.readTimeout(near, 1+f.rand.IntN(30), around)
		full := f.readFull(near, 1+f.rand.IntN(30), around)
		f.wait(o, full)
		f.wantError(o, nil, aio.ErrDeadline)
		f.wantError(full, nil, aio.ErrDeadline)
		// A deadline ends an operation before earlier ones, but then it has read nothing
		// or the one before it has ended too.
		got = append(append(got, o.bytes()...), full.bytes()...)
	}
	got = append(got, f.collect(1000-len(got), func(left int) *op { return f.read(near, left) })...)
	if !bytes.Equal(got, data) {
		f.Error("bytes were lost or came twice")
	}
}

// deadlineEndsRead has WaitIO woken by other connections all the time, so that it
// has many an occasion to be early.
func deadlineEndsRead(f *fixture) {
	near, _ := f.pair()
	busy, farBusy := f.pair()
	go func() { _, _ = io.Copy(farBusy, farBusy) }()
	start := time.Now()
	deadline := start.Add(soon)
	ops := []*op{f.readTimeout(near, 10, deadline), f.readFull(near, 10, deadline), f.readBuf(near, 0, deadline), f.readTimeout(near, 0, deadline)}
	for over := false; !over; {
		f.wait(f.write(busy, []byte{1}), f.read(busy, 1))
		for _, o := range ops {
			if o.done {
				over = true
				if took := time.Since(start); took < soon {
					f.Fatalf("a deadline in %v was over after %v", soon, took)
				}
			}
		}
	}
	f.wait(ops...)
	for _, o := range ops {
		f.wantError(o, aio.ErrDeadline)
	}
}

func deadlineInReadFull(f *fixture) {
	near, far := f.pair()
	data := f.bytes(1000)
	// The peer sends when the read is pending, so that bytes reach it one by one.
	// On a busy machine the first comes late.
	var got []byte
	for wait := 2 * soon; len(got) == 0; wait *= 2 {
		o := f.readFull(near, 2000, time.Now().Add(wait))
		if wait == 2*soon {
			f.send(far, data)
		}
		f.wait(o)
		f.wantError(o, aio.ErrDeadline)
		got = bytes.Clone(o.bytes())
		if wait > eventTimeout {
			f.Fatalf("no byte of 1000 came within %v", wait)
		}
	}
	got = append(got, f.collect(1000-len(got), func(left int) *op { return f.read(near, left) })...)
	if !bytes.Equal(got, data) {
		f.Error("what came before the deadline and after it is not what was sent")
	}
}

// soonerDeadline overtakes: the operation behind ends, the one before waits on.
func soonerDeadline(f *fixture) {
	near, far := f.pair()
	first := f.readTimeout(near, 5, never())
	second := f.readTimeout(near, 5, time.Now().Add(soon))
	third := f.read(near, 5)
	f.wait(second)
	f.wantError(second, aio.ErrDeadline)
	if first.done || third.done {
		f.Fatal("a deadline ended other operations than its own")
	}
	f.send(far, []byte("12345"))
	got := ""
	for _, o := range []*op{first, third} {
		if len(got) == 5 {
			break
		}
		f.wait(o)
		f.wantError(o, nil)
		got += string(o.bytes())
	}
	if len(got) < 5 {
		got += string(f.collect(5-len(got), func(left int) *op { return f.read(near, left) }))
	}
	if got != "12345" {
		f.Errorf("%q was read, want 12345", got)
	}
}

// soonerWhileParked wakes WaitIO again and again, for a deadline before the one
// that it sleeps for.
func soonerWhileParked(f *fixture) {
	near, _ := f.pairs(4)
	far := []*op{f.readTimeout(near[0], 10, time.Now().Add(time.Hour))}
	for i, d := range []time.Duration{time.Hour / 2, 4 * eventTimeout} {
		f.park()
		far = append(far, f.readTimeout(near[1+i], 10, time.Now().Add(d)))
	}
	f.park()
	// On a busy machine the later one may be over before WaitIO sleeps again.
	for later := 3 * soon; ; later *= 4 {
		start := time.Now()
		last := f.readTimeout(near[0], 10, start.Add(later))
		if !f.parks() {
			f.wait(last)
			f.park()
			continue
		}
		first := f.readTimeout(near[3], 10, time.Now().Add(soon))
		f.wait(first)
		f.wantError(first, aio.ErrDeadline)
		f.wait(last)
		f.wantError(last, aio.ErrDeadline)
		if took := time.Since(start); took < later || took > eventTimeout {
			f.Errorf("deadlines of %v and %v were over after %v", soon, later, took)
		}
		break
	}
	for _, o := range far {
		if o.done {
			f.Error("a deadline that is far away was over too")
		}
	}
}

// deadlineNotReached leaves deadlines behind that must not hit what comes later.
func deadlineNotReached(f *fixture) {
	near, far := f.pair()
	for range 20 {
		o := f.readTimeout(near, 1, time.Now().Add(2*soon))
		f.send(far, []byte{1})
		f.wait(o)
		f.wantError(o, nil, aio.ErrDeadline)
		if o.res.Error != nil {
			f.collect(1, func(int) *op { return f.read(near, 1) })
		}
	}
	next := f.read(near, 1)
	marker := f.readTimeout(f.idleConn(), 1, time.Now().Add(4*soon))
	f.wait(marker)
	f.wantError(marker, aio.ErrDeadline)
	if next.done {
		f.Errorf("a deadline of an operation that is over has hit a later one: %v", next.res.Error)
	}
}

// idleConn is one on which nothing comes.
func (f *fixture) idleConn() net.Conn {
	f.Helper()
	near, _ := f.pair()
	return near
}

func zeroIsNoDeadline(f *fixture) {
	near, _ := f.narrowPair()
	ops := []*op{
		f.readTimeout(near, 10, time.Time{}), f.readFull(near, 10, time.Time{}), f.readBuf(near, 10, time.Time{}),
		f.writeTimeout(near, f.bytes(tooMuch), time.Time{}), f.writeBuf(near, f.bufOf(f.bytes(10)), time.Time{}),
	}
	marker := f.readTimeout(f.idleConn(), 1, time.Now().Add(soon))
	f.wait(marker)
	for _, o := range ops {
		if o.done {
			f.Errorf("%v without a deadline is over: %v", o, o.res.Error)
		}
	}
}

// deadlineBeyondAllTime: such times do not fit into a Duration, or into what the
// kernel counts with.
func deadlineBeyondAllTime(f *fixture) {
	near, far := f.pair()
	var ops []*op
	for _, deadline := range []time.Time{
		time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), time.Now().Add(1<<63 - 1), time.Unix(1<<61, 0), never().Round(0),
	} {
		ops = append(ops, f.readTimeout(near, 1, deadline))
	}
	f.park()
	f.send(far, []byte("1234"))
	f.wait(ops...)
	for _, o := range ops {
		f.wantError(o, nil)
	}
}

// deadlineOfTheProgram is gone: deadlines belong to operations.
func deadlineOfTheProgram(f *fixture) {
	near, far := f.pair()
	if err := near.SetDeadline(time.Unix(1, 0)); err != nil {
		f.Fatal(err)
	}
	o, w := f.read(near, 10), f.write(near, []byte("out"))
	f.receive(far, []byte("out"))
	f.send(far, []byte("in"))
	f.wait(o, w)
	f.wantError(o, nil)
	f.wantError(w, nil)
}

// deadlineInWrite has the peer read nothing until the deadline is over, and then
// find the bytes that the write says, and those of the next write behind them.
func deadlineInWrite(f *fixture) {
	for wait := soon; ; wait *= 2 {
		near, far := f.narrowPair()
		first, second := f.bytes(tooMuch), f.bytes(1000)
		a := f.writeTimeout(near, first, time.Now().Add(wait))
		b := f.write(near, second)
		f.wait(a)
		f.wantError(a, aio.ErrDeadline)
		if a.res.Size >= tooMuch {
			f.Fatalf("%d bytes of %d were out at the deadline", a.res.Size, tooMuch)
		}
		f.receive(far, append(first[:a.res.Size:a.res.Size], second...))
		f.wait(b)
		f.wantError(b, nil)
		// On a busy machine the first byte may be late.
		if a.res.Size > 0 {
			return
		}
		if wait > eventTimeout {
			f.Fatalf("no byte of %d was out within %v", tooMuch, wait)
		}
	}
}

// deadlineOfQueuedWrite takes writes of every kind out of the middle of a queue.
func deadlineOfQueuedWrite(f *fixture) {
	near, far := f.narrowPair()
	first, last := f.bytes(tooMuch), f.bytes(1000)
	deadline := time.Now().Add(soon)
	a := f.write(near, first)
	queued := []*op{
		f.writeTimeout(near, f.bytes(1000), deadline),
		f.writeBuf(near, f.bufOf(f.bytes(1000)), deadline),
		f.writeMemory(near, f.memoryOf(f.bytes(1000), 100), deadline),
	}
	z := f.write(near, last)
	f.wait(queued...)
	for _, o := range queued {
		if f.wantError(o, aio.ErrDeadline); o.res.Size != 0 {
			f.Errorf("%v: %d bytes, none can be out", o, o.res.Size)
		}
	}
	if a.done || z.done {
		f.Fatal("a deadline ended other operations than its own")
	}
	f.receive(far, append(first, last...))
	f.wait(a, z)
	f.wantError(a, nil)
	f.wantError(z, nil)
}

func manyDeadlines(f *fixture) {
	const conns, each = 20, 25
	near, _ := f.pairs(conns)
	deadline := time.Now().Add(soon)
	var ops []*op
	for i := range conns * each {
		ops = append(ops, f.readTimeout(near[i%conns], 10, deadline))
	}
	before := f.rounds
	f.wait(ops...)
	for _, o := range ops {
		f.wantError(o, aio.ErrDeadline)
	}
	if rounds := f.rounds - before; rounds > conns*each/2 {
		f.Errorf("%d operations with one deadline took %d rounds", conns*each, rounds)
	}
}
