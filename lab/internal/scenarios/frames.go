package scenarios

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/netsim"
)

var allFrames = slices.Concat(plainWays, []way{bufioxWay}, ourWays)

// shortFrames are the frames of the in-memory scenarios: 256 up to 1,024
// bytes behind a length.
func shortFrames(env lab.Env) *stream { return frameKind{env.Seed, 256, 1024}.frames() }

var _ = register(10, framingGroup)

// framingGroup reads frames from memory in pieces as networks bring them, in
// one goroutine.
func framingGroup() []lab.Scenario {
	ways := slices.Concat(plainWays, floorWays, []way{bufioxWay, batchedBufiox}, ourWays)
	var group []lab.Scenario
	for _, cond := range netsim.Conditions() {
		group = append(group, framing(cond.Name, ways, cond, shortFrames))
	}
	for _, size := range []int{16, 128} {
		group = append(group, framing(fmt.Sprintf("small-%d", size), ways, netsim.Good,
			func(env lab.Env) *stream { return frameKind{env.Seed, size, size}.frames() }))
	}
	return group
}

func framing(name string, ways []way, cond netsim.Condition, frames func(lab.Env) *stream) lab.Scenario {
	return describe("framing/"+name, walks(ways, func(env lab.Env) (io.Reader, *stream, func() error, error) {
		s := frames(env)
		return netsim.NewReader(s.source(0), cond, env.Seed), s, nil, nil
	})...)
}

var _ = register(70, streamsGroup)

// streamsGroup reads many streams round-robin, a frame of each, in one goroutine:
// what a reader has in memory has left the caches by the time it is used again.
func streamsGroup() []lab.Scenario {
	small := way{"peek-4K", "bufio.Reader of 4 KiB, its default: a sixteenth of the memory", func(src io.Reader, _ place) (walk, func()) {
		return peek(bufio.NewReaderSize(src, 4<<10)), nil
	}}
	ways := append(pick(allFrames, "peek", "bufiox", "next", "readbuf"), small)
	var group []lab.Scenario
	for _, count := range []int{100, 1000, 10_000} { // 10,000 buffers of 64 KiB are 640 MB
		group = append(group, describe("streams/"+strconv.Itoa(count),
			variants(ways, func(env lab.Env, w way) (lab.Runner, error) { return newRoundRobin(w, env, count) })...))
	}
	return group
}

type roundRobin struct {
	walkers
	next int // index of the walker to run next
}

type walkers []*walker

func newRoundRobin(w way, env lab.Env, count int) (lab.Runner, error) {
	s := shortFrames(env)
	t := &roundRobin{walkers: make(walkers, count)}
	sizes := netsim.Draw(netsim.Good, env.Seed)
	for i := range t.walkers {
		t.walkers[i] = spread(w, s, sizes, i, count)
	}
	// The streams are read a few frames apart, so that their buffers do not
	// all come to an end at the same time.
	const spread = 8
	for i, r := range t.walkers {
		if _, err := r.Run(1 + i%spread); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	return t, nil
}

func (t *roundRobin) Run(ops int) (out lab.Sample, err error) {
	s := t.walkers[0].s
	var got, want uint64
	for range ops {
		r := t.walkers[t.next]
		if t.next++; t.next == len(t.walkers) {
			t.next = 0
		}
		sum, err := r.walk(1)
		if err != nil {
			return out, err
		}
		got += sum
		want += s.marks[r.at+1] - s.marks[r.at]
		out.Bytes += s.ends[r.at+1] - s.ends[r.at] - frameHead
		if r.at++; r.at == s.units() {
			r.at = 0
		}
	}
	if got != want {
		return out, fmt.Errorf("%w: %d units of %d streams come to %#x, want %#x", errDiffers, ops, len(t.walkers), got, want)
	}
	out.Check = got
	return out, nil
}

func (w walkers) Close() error {
	var errs []error
	for _, r := range w {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// spread makes the walker i of count, which begins at a place of its own in the same
// bytes and the same sizes of reads.
func spread(w way, s *stream, sizes *netsim.Table, i, count int) *walker {
	at := i * s.units() / count
	return newWalker(w, sizes.Reader(s.source(at), uint(i*netsim.TableLen/count)), place{s: s, at: at})
}

var _ = register(25, concurrentGroup)

const readersPerCPU = 4

// concurrentGroup reads many streams at once, each by a goroutine, as a server does: alone,
// and beside a heap that is costly to collect, where garbage costs the most.
func concurrentGroup() []lab.Scenario {
	ways := pick(allFrames, "naive", "peek", "bufiox", "next", "readbuf")
	return []lab.Scenario{
		describe("concurrent/read", variants(ways, newReaders)...),
		describe("concurrent/gc", variants(ways, func(env lab.Env, w way) (lab.Runner, error) {
			readers, err := newReaders(env, w)
			if err != nil {
				return nil, err
			}
			heap := newSessions()
			return runner{func(ops int) (lab.Sample, error) {
				defer runtime.KeepAlive(heap)
				return readers.Run(ops)
			}, readers.Close}, nil
		})...),
	}
}

// apart is how many walkers that do nothing are made between two that work. Small objects
// that are made one after the other lie side by side: two walkers would share cache lines
// or not, as memory happened to lie.
const apart = 8

func newReaders(env lab.Env, w way) (lab.Runner, error) {
	s, sizes := shortFrames(env), netsim.Draw(netsim.Normal, env.Seed)
	all := make(walkers, readersPerCPU*runtime.GOMAXPROCS(0)*apart)
	for i := range all {
		all[i] = spread(w, s, sizes, i, len(all))
	}
	working := make([]*walker, 0, len(all)/apart)
	for i := 0; i < len(all); i += apart {
		working = append(working, all[i])
	}
	samples := make([]lab.Sample, len(working))
	pool := newWorkerPool(len(working), func(i, n int) (err error) {
		samples[i], err = working[i].Run(n)
		return err
	})
	return runner{func(ops int) (out lab.Sample, err error) {
		err = pool.run(ops)
		for _, one := range samples {
			out.Bytes += one.Bytes
			out.Check += one.Check
		}
		return out, err
	}, func() error {
		return errors.Join(pool.stop(), all.Close())
	}}, nil
}

// A session is a piece of a server's state, for the collector to look at.
type session struct {
	next  *session
	name  *[32]byte
	peers [4]*session
}

// newSessions returns the first of a list of 10,000: a collection takes about a
// millisecond of a processor.
func newSessions() *session {
	var head *session
	ring := make([]*session, 64)
	for i := range 10_000 {
		s := &session{next: head, name: new([32]byte)}
		for j := range s.peers {
			s.peers[j] = ring[(i*7+j*13)%len(ring)]
		}
		ring[i%len(ring)] = s
		head = s
	}
	return head
}
