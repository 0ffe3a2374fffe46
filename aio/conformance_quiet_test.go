package aio_test

import (
	"errors"
	"io"
	"slices"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// Quiet writes complete only when they fail.

func init() {
	quiet := func(o *aio.Options) { o.QuietWrites = true }
	limited := func(o *aio.Options) { quiet(o); o.QueueLimit = limit }
	suite = append(suite,
		behaviour{name: "quiet writes that go out have no completion", run: quietWritten, on: everyConn, options: quiet},
		behaviour{name: "a quiet write leaves the buffer to the program", run: quietKeeps, on: everyConn, options: quiet},
		behaviour{name: "a quiet echo of borrowed memory", run: quietBorrowed, options: quiet},
		behaviour{name: "quiet writes that fail complete", run: quietFails, options: quiet},
		behaviour{name: "quiet writes count for QueueLimit", run: quietLimit, on: onlyTCP, options: limited},
	)
}

// quietWritten sends by each kind of write. A read that completes behind them shows
// that they have no completion.
func quietWritten(f *fixture) {
	near, far := f.pair()
	data := f.bytes(3000)
	received := f.receive(far, slices.Concat(data, data, data))
	must := func(err error) {
		f.Helper()
		if err != nil {
			f.Fatal(err)
		}
	}
	must(f.w.Write("quiet", near, data))
	must(f.w.WriteBuf("quiet", near, f.bufOf(data), time.Now().Add(eventTimeout)))
	m := mem.NewMemory(f.bufOf(data[:1000]), f.bufOf(data[1000:]))
	must(f.w.WriteMemory("quiet", near, m, time.Time{}))
	f.quietly(3, len(data))
	<-received
	read := f.read(near, 1)
	f.sendAll(far, []byte("x"))
	f.wait(read)
	if n := len(f.completed); n != 1 {
		f.Errorf("%d completions, want that of the read alone", n)
	}
}

// quietKeeps changes the buffer as soon as the submission has returned, while nearly
// all of it has to wait.
func quietKeeps(f *fixture) {
	near, far := f.narrowPair()
	data := f.bytes(tooMuch)
	buf := slices.Clone(data)
	if err := f.w.Write("quiet", near, buf); err != nil {
		f.Fatal(err)
	}
	clear(buf)
	received := f.receive(far, data)
	f.quietly(1, len(data))
	<-received
}

// quietBorrowed answers with what a read has lent, and reads on at once.
func quietBorrowed(f *fixture) {
	near, far := f.narrowPair()
	data := f.bytes(tooMuch)
	f.background("the peer sends", func() error { _, err := far.Write(data); return err })
	received := f.receive(far, data)
	if err := f.w.Read("read", near, nil); err != nil {
		f.Fatal(err)
	}
	writes := uint64(0)
	for back := 0; back < len(data); {
		results, err := f.next()
		if err != nil {
			f.Fatal(err)
		}
		for i := range results {
			r := &results[i]
			if r.Context != "read" || r.Error != nil {
				f.Fatalf("%+v, want a read", *r)
			}
			if err := f.w.Write("quiet", near, r.Buffer); err != nil {
				f.Fatal(err)
			}
			writes++
			if back += r.Size; back == len(data) {
				break
			}
			if err := f.w.Read("read", near, nil); err != nil {
				f.Fatal(err)
			}
		}
	}
	f.loop.start()
	f.eventually("the writes are out", func() bool { return f.w.Stats().Writes == writes })
	f.sums.writes, f.sums.bytesWritten = writes, uint64(len(data))
	<-received
}

func quietFails(f *fixture) {
	stuck, _ := f.narrowPair()
	if err := f.w.Write("waits", stuck, f.bytes(tooMuch)); err != nil {
		f.Fatal(err)
	}
	f.free(stuck)
	f.wantQuietFailure("waits", io.ErrClosedPipe)
	if err := f.w.Write("late", stuck, f.bytes(10)); err != aio.ErrConnClosed {
		f.Errorf("after Free: %v, want ErrConnClosed", err)
	}
}

// wantQuietFailure waits for the completion of a write with this context.
func (f *fixture) wantQuietFailure(ctx string, want error) {
	f.Helper()
	results, err := f.next()
	if err != nil || len(results) != 1 {
		f.Fatalf("%d results, %v, want that of a write", len(results), err)
	}
	if r := results[0]; r.Operation != aio.OpWrite || r.Context != ctx || r.Error != want || r.Buffer != nil {
		f.Errorf("%+v, want the write %q without its buffer, and %v", r, ctx, want)
	}
}

func quietLimit(f *fixture) {
	stuck, _ := f.narrowPair()
	if err := f.w.Write("waits", stuck, f.bytes(tooMuch)); err != nil {
		f.Fatal(err)
	}
	if held := f.w.Stats().QueuedHeld; held < tooMuch {
		f.Errorf("%d bytes are held, want %d at least", held, tooMuch)
	}
	for range limit/1000 + 1 {
		if err := f.w.Write("more", stuck, f.bytes(1000)); err != nil {
			if !errors.Is(err, aio.ErrQueueFull) {
				f.Errorf("%v, want ErrQueueFull", err)
			}
			return
		}
	}
	f.Errorf("%d bytes and no refusal, the limit is %d", f.w.Stats().QueuedBytes, limit)
}
