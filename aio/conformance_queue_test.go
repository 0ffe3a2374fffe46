package aio_test

import (
	"errors"
	"time"

	"github.com/sluice-go/sluice/aio"
	driver "github.com/sluice-go/sluice/aio/internal/op"
)

// limit is the QueueLimit of these behaviours, in bytes.
const limit = 100_000

func init() {
	refuse := func(o *aio.Options) { o.QueueLimit = limit }
	closes := func(o *aio.Options) { o.QueueLimit, o.QueuePolicy = limit, aio.QueueClose }
	suite = append(suite,
		behaviour{name: "a full queue refuses", run: queueRefuses, options: refuse},
		behaviour{name: "a queue is never longer than its limit", run: queueBounded, options: refuse},
		behaviour{name: "a full queue closes the connection", run: queueCloses, options: closes},
	)
}

// queueRefuses shows that an empty queue takes a write of any size, and that
// what is refused has changed nothing.
func queueRefuses(f *fixture) {
	near, far := f.narrowPair()
	other, farOther := f.pair()
	data := f.bytes(tooMuch)
	o := f.write(near, data)
	for name, err := range map[string]error{
		"Write":       f.w.Write(nil, near, []byte{1}),
		"WriteBuf":    f.w.WriteBuf(nil, near, f.bufOf([]byte{1}), time.Time{}),
		"WriteMemory": f.w.WriteMemory(nil, near, f.memoryOf([]byte{1, 2}, 1), time.Time{}),
	} {
		if !errors.Is(err, aio.ErrQueueFull) {
			f.Errorf("%s into a queue that is full: %v, want ErrQueueFull", name, err)
		}
	}
	if left := len(f.alloc.Leaks()); left != 0 {
		f.Errorf("%d references of refused writes were kept", left)
	}
	s := f.w.Stats()
	if s.Pending != 1 || s.Refused != 3 || s.Slow != 0 || s.QueuedBytes > tooMuch {
		f.Errorf("after three refusals: %+v", s)
	}
	// The limit is the connection's: others are not concerned.
	w := f.write(other, []byte{1})
	f.receiveAll(farOther, []byte{1})
	f.wait(w)
	received := f.receive(far, data)
	f.wait(o)
	f.wantError(o, nil)
	<-received
	if q := f.w.Stats().QueuedBytes; q != 0 {
		f.Errorf("%d bytes are queued when all is out", q)
	}
	// There is room again.
	again := f.write(near, data)
	f.receive(far, data)
	f.wait(again)
	f.wantError(again, nil)
}

func queueBounded(f *fixture) {
	near, far := f.narrowPair()
	var all []byte
	var ops []*op
	refused := false
	for i := 0; !refused; i++ {
		data := f.bytes(limit / 5)
		o := f.newWrite(near, "Write", data)
		sent := append([]byte(nil), data...)
		err := f.submit(o, func() error { return f.w.Write(o, near, o.buf) })
		switch {
		case err == nil:
			all = append(all, sent...)
			ops = append(ops, o)
		case errors.Is(err, aio.ErrQueueFull):
			refused = true
			// What was held then: more may go out before Stats could say it.
			var full *driver.QueueFullError
			if !errors.As(err, &full) || full.Held < limit/2 {
				f.Errorf("a write of %d was refused: %v", limit/5, err)
			}
		default:
			f.Fatal(err)
		}
		if q := f.w.Stats().QueuedBytes; q > limit {
			f.Fatalf("%d bytes are queued, the limit is %d", q, limit)
		}
		if i > 1000 {
			f.Fatalf("%d bytes were accepted and none refused, the limit is %d", len(all), limit)
		}
	}
	f.receive(far, all)
	f.wait(ops...)
	for _, o := range ops {
		f.wantError(o, nil)
	}
}

func queueCloses(f *fixture) {
	near, far := f.narrowPair()
	other, farOther := f.pair()
	r, w := f.read(near, 10), f.write(near, f.bytes(tooMuch))
	kept := f.read(other, 10)
	f.park()
	if err := f.w.Write(nil, near, []byte{1}); !errors.Is(err, aio.ErrQueueFull) {
		f.Errorf("a write beyond the limit: %v, want ErrQueueFull", err)
	}
	f.wait(r, w)
	f.wantError(r, aio.ErrQueueFull)
	f.wantError(w, aio.ErrQueueFull)
	f.wantRefused(near, aio.ErrConnClosed)
	if s := f.w.Stats(); s.Slow != 1 || s.Conns != 1 || s.Pending != 1 {
		f.Errorf("after one connection of two was closed: %+v", s)
	}
	f.wantCut(far, tooMuch)
	f.sendAll(farOther, []byte("on"))
	f.wait(kept)
	f.wantError(kept, nil)
	f.free(near)
}
