package aio_test

import (
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

func init() {
	readNil := func(f *fixture, i int, conn net.Conn) error { return f.w.Read(i, conn, nil) }
	readBuf := func(f *fixture, i int, conn net.Conn) error { return f.w.ReadBuf(i, conn, 0, time.Time{}) }
	readTwice := func(f *fixture, i int, conn net.Conn) error {
		return errors.Join(f.w.Read(i, conn, nil), f.w.Read(nil, conn, nil))
	}
	tight := func(o *aio.Options) {
		o.Allocator = mem.New(mem.Options{Name: "conformance", Budget: 256 << 10})
	}
	large := func(o *aio.Options) { o.BufferSize = 512 << 10 }
	small := func(o *aio.Options) { o.BufferSize = 512 }
	suite = append(suite,
		behaviour{name: "reads without a buffer are served in turn", run: inTurn(40, readNil)},
		behaviour{name: "large reads without a buffer are served in turn", run: inTurn(10, readNil), options: large, on: onlyTCP},
		behaviour{name: "small reads without a buffer are served in turn", run: inTurn(40, readNil), options: small, on: onlyTCP},
		behaviour{name: "several reads without a buffer are served in turn", run: inTurn(40, readTwice), on: onlyTCP},
		behaviour{name: "ReadBuf is served in turn", run: inTurn(40, readBuf), on: onlyTCP},
		behaviour{name: "ReadBuf within a budget is served in turn", run: inTurn(50, readBuf), options: tight, on: onlyTCP},
		behaviour{name: "what the budget refused comes first", run: refusedFirst, options: tight, on: onlyTCP, needs: idleFree},
		behaviour{name: "many reads on one connection let others go first", run: manyReadsGoBehind, on: []string{"unixpacket"}, needs: idleFree},
		behaviour{name: "a connection that a round had no memory for is first in the next", run: firstInTheNext, on: []string{"unixpacket"}, needs: idleFree},
	)
}

// inTurn has many connections whose peers send without a pause, more than one
// WaitIO has memory for. Each is read from so many times, on average: the least of
// them gets at least a quarter of what the one in the middle gets. On a busy machine
// some peers get to send less than others for a while, so more rounds may put that right:
// who is starved never catches up.
// Under the race detector fewer reads ask the same.
func inTurn(each int, read func(f *fixture, i int, conn net.Conn) error) func(*fixture) {
	if sys.Race {
		each /= 4
	}
	return func(f *fixture) {
		const n = 200
		near, far := f.pairs(n)
		for i := range n {
			// Data is there from the beginning, and no sender can send much at once.
			f.narrow(far[i], near[i])
			f.sendAll(far[i], make([]byte, narrow/2))
		}
		for i := range n {
			go func() { _, _ = io.Copy(far[i], endless{}) }()
			if err := read(f, i, near[i]); err != nil {
				f.Fatal(err)
			}
		}
		var got [n]int
		end := time.Now().Add(2 * eventTimeout)
		for reads, rounds := 0, 1; ; {
			if reads >= rounds*n*each {
				sorted := slices.Sorted(slices.Values(got[:]))
				least, median := sorted[0], sorted[n/2]
				if 4*least >= median {
					break
				}
				if rounds++; rounds > 8 {
					f.Errorf("of %d connections the one in the middle was read from %d times, the least %d times", n, median, least)
					break
				}
			}
			if time.Now().After(end) {
				f.Fatalf("%d reads, %d each wanted, after %v; %v; %+v", reads, each, 2*eventTimeout, f.alloc, f.w.Stats())
			}
			results, err := f.next()
			if err != nil {
				f.Fatal(err)
			}
			for j := range results {
				r := &results[j]
				if r.Error != nil && !errors.Is(r.Error, mem.ErrBudget) {
					f.Fatal(r.Error)
				}
				if r.Buf.Valid() {
					r.Buf.Release()
				}
				i, again := r.Context.(int)
				if !again {
					i = slices.Index(near, r.Conn)
				}
				if r.Size > 0 {
					got[i]++
					reads++
				}
				if !again {
					continue
				}
				if err := read(f, i, r.Conn); err != nil {
					f.Fatal(err)
				}
			}
		}
		f.closeReleasing()
	}
}

// refusedFirst has data for several reads on each connection, and memory for a few
// connections at a time. The program submits in the order of the results, so that those
// that were served would be served again.
func refusedFirst(f *fixture) {
	const n, each, size = 60, 5, 9 << 10 // larger than what is copied out of its block
	near, far := f.pairs(n)
	for i := range n {
		f.sendAll(far[i], make([]byte, each*size))
		if err := f.w.ReadBuf(i, near[i], size, time.Time{}); err != nil {
			f.Fatal(err)
		}
	}
	var got [n]int
	for reads := 0; reads < 2*n; {
		results, err := f.next()
		if err != nil {
			f.Fatal(err)
		}
		for j := range results {
			r := &results[j]
			i := r.Context.(int)
			switch {
			case r.Buf.Valid():
				r.Buf.Release()
				got[i]++
				reads++
			case !errors.Is(r.Error, mem.ErrBudget):
				f.Fatal(r.Error)
			}
			if err := f.w.ReadBuf(i, near[i], size, time.Time{}); err != nil {
				f.Fatal(err)
			}
		}
	}
	if least := slices.Min(got[:]); least == 0 {
		f.Errorf("after two reads for each connection: %v", got)
	}
	f.closeReleasing()
}

// manyReadsGoBehind has one connection take all the memory of a round, and more of it
// waiting: a message takes a block of its own.
func manyReadsGoBehind(f *fixture) {
	const n = 100
	busy, farBusy := f.pair()
	other, farOther := f.pair()
	f.background("the busy peer sends", func() error {
		for range n {
			if _, err := farBusy.Write([]byte("x")); err != nil {
				return err
			}
		}
		return nil
	})
	f.sendAll(farOther, []byte("y"))
	for range n {
		f.readNil(busy)
	}
	before := f.sums.reads
	o := f.readNil(other)
	f.wait(o)
	// Its own round, the one that it comes too late for, and one that others are first in.
	if ahead := f.sums.reads - before; ahead > 3*16 {
		f.Errorf("%d reads of the busy connection were served before the only one of another", ahead-1)
	}
}

// firstInTheNext has one connection more than two rounds have memory for. If the one that
// finds the memory used up went behind the others, it would be there again in each round.
func firstInTheNext(f *fixture) {
	const round, each, turns = 16, 30, 20 // a message takes a block of its own
	near, far := f.pairs(2*round + 1)
	for i := range near {
		for range each {
			f.sendAll(far[i], []byte("x"))
		}
	}
	for i := range near {
		if err := f.w.Read(i, near[i], nil); err != nil {
			f.Fatal(err)
		}
	}
	got := make([]int, len(near))
	for reads := 0; reads < turns*len(near); {
		results, err := f.next()
		if err != nil {
			f.Fatal(err)
		}
		for j := range results {
			r := &results[j]
			if r.Error != nil {
				f.Fatal(r.Error)
			}
			i := r.Context.(int)
			got[i]++
			reads++
			if got[i] == each {
				continue
			}
			if err := f.w.Read(i, r.Conn, nil); err != nil {
				f.Fatal(err)
			}
		}
	}
	if least := slices.Min(got); least < turns/2 {
		f.Errorf("after %d reads for each connection: %v", turns, got)
	}
}

// closeReleasing closes the watcher and releases what its last reads have read.
func (f *fixture) closeReleasing() {
	f.Helper()
	if err := f.w.Close(); err != nil {
		f.Fatal(err)
	}
	results, _ := f.next()
	for i := range results {
		if b := &results[i].Buf; b.Valid() {
			b.Release()
		}
	}
}
