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
	atMost := map[string]float64{"good": 0.85, "normal": 0.85, "poor": 0.90, "worst": 0.95}
	ways := slices.Concat(plainWays, floorWays, []way{bufioxWay, batchedBufiox}, ourWays)
	var group []lab.Scenario
	for _, cond := range netsim.Conditions() {
		sc := framing(cond.Name, fmt.Sprintf("frames of 256 to 1,024 bytes from memory, network %v", cond), ways, cond, shortFrames)
		sc.Ops = 100_000
		sc.Targets = append([]lab.Target{
			{Variant: "next", Against: "peek", AtMost: atMost[cond.Name]},
			// At most 0.95 of each is at most 0.95 of the better one.
			{Variant: "next", Against: "bufiox", AtMost: 0.95},
			{Variant: "next", Against: "bufiox-16", AtMost: 0.95},
			{Variant: "range", Against: "peek", AtMost: 1.15},
		}, noGarbage("next", "range", "readbuf")...)
		group = append(group, sc)
	}
	for _, size := range []int{16, 128} {
		sc := framing(fmt.Sprintf("small-%d", size), fmt.Sprintf("frames of %d bytes from memory, network %v", size, netsim.Good), ways, netsim.Good,
			func(env lab.Env) *stream { return frameKind{env.Seed, size, size}.frames() })
		sc.Ops = 500_000
		sc.Targets = append([]lab.Target{{Variant: "readbuf", Against: "peek", AtMost: 0.95}}, noGarbage("next", "readbuf")...)
		group = append(group, sc)
	}
	return group
}

func framing(name, title string, ways []way, cond netsim.Condition, frames func(lab.Env) *stream) lab.Scenario {
	return lab.Scenario{
		Name:     "framing/" + name,
		Title:    title,
		Op:       "frame",
		Metric:   lab.NsPerOp,
		Baseline: "peek",
		Variants: walks(ways, func(env lab.Env) (io.Reader, *stream, func() error, error) {
			s := frames(env)
			return netsim.NewReader(s.source(0), cond, env.Seed), s, nil, nil
		}),
	}
}

// noGarbage promises that the named variants neither allocate nor cause
// collections.
func noGarbage(variants ...string) []lab.Target {
	var targets []lab.Target
	for _, v := range variants {
		targets = append(targets,
			lab.Target{Variant: v, Metric: lab.AllocsPerOp, AtMost: 0},
			lab.Target{Variant: v, Metric: lab.GCRuns, AtMost: 0})
	}
	return targets
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
	for _, count := range []int{100, 1000, 10_000} {
		group = append(group, lab.Scenario{
			Name:     "streams/" + strconv.Itoa(count),
			Title:    fmt.Sprintf("frames of 256 to 1,024 bytes of %d streams from memory, read in turn, network %v", count, netsim.Good),
			Op:       "frame",
			Metric:   lab.NsPerOp,
			Baseline: "peek",
			Ops:      50_000,
			Named:    count > 1000, // 10,000 buffers of 64 KiB are 640 MB
			Targets:  []lab.Target{{Variant: "next", Against: "peek", AtMost: 1}},
			Variants: variants(ways, func(env lab.Env, w way) (lab.Runner, error) { return newRoundRobin(w, env, count) }),
		})
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
	scenario := func(name, where string, open func(lab.Env, way) (lab.Runner, error)) lab.Scenario {
		return lab.Scenario{
			Name:     "concurrent/" + name,
			Title:    fmt.Sprintf("frames of 256 to 1,024 bytes by %d goroutines for each processor%s, network %v", readersPerCPU, where, netsim.Normal),
			Op:       "frame",
			Metric:   lab.CPUPerOp,
			Baseline: "peek",
			Ops:      200_000,
			Targets:  append([]lab.Target{{Variant: "next", Against: "peek", AtMost: 0.90}}, noGarbage("next", "readbuf")...),
			Variants: variants(ways, open),
		}
	}
	return []lab.Scenario{
		scenario("read", "", newReaders),
		scenario("gc", " beside a live heap of 10,000 sessions", func(env lab.Env, w way) (lab.Runner, error) {
			readers, err := newReaders(env, w)
			if err != nil {
				return nil, err
			}
			heap := newSessions()
			return runner{func(ops int) (lab.Sample, error) {
				defer runtime.KeepAlive(heap)
				return readers.Run(ops)
			}, readers.Close}, nil
		}),
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
