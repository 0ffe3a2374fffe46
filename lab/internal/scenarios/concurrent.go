package scenarios

import (
	"fmt"
	"runtime"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/netsim"
)

// readersPerCPU is how many goroutines read at the same time for each
// processor.
const readersPerCPU = 4

var _ = register(20, concurrentGroup)

// concurrentGroup reads on many sources at once.
func concurrentGroup() []lab.Scenario {
	return []lab.Scenario{{
		Name:     "concurrent-read",
		Title:    fmt.Sprintf("frames of 256 to 1,024 bytes by %d goroutines for each processor, network %v", readersPerCPU, netsim.Normal),
		Op:       "frame",
		Metric:   lab.NsPerOp,
		Baseline: "peek",
		Ops:      200_000,
		Variants: variants(allFrames, func(env lab.Env, w way) (lab.Runner, error) {
			return newReaders(w, shortFrames(env), env, readersPerCPU), nil
		}),
	}}
}

// apart is how many walkers that do nothing are made after each one that does.
// Small objects that are made one after the other lie side by side: two
// walkers would share cache lines or not, as memory happened to lie, and two copies of the same
// variant differ by a factor of two for as long as the process lived.
const apart = 8

// newReaders makes a fleet of so many goroutines for each processor, which
// walk the same bytes from places spread over them.
func newReaders(w way, s *stream, env lab.Env, perCPU int) lab.Runner {
	sizes := netsim.Draw(netsim.Normal, env.Seed)
	walkers := make([]*walker, perCPU*runtime.GOMAXPROCS(0))
	var spacers []*walker
	for i := range walkers {
		made := func() *walker { return spread(w, s, sizes, i, len(walkers)) }
		walkers[i] = made()
		for range apart {
			spacers = append(spacers, made())
		}
	}
	return newFleet(walkers, spacers)
}

// spread makes the walker i of count, which begins at a place of its own in the same
// bytes and the same sizes of reads.
func spread(w way, s *stream, sizes *netsim.Table, i, count int) *walker {
	at := i * s.units() / count
	return newWalker(w, sizes.Reader(s.source(at), uint(i*netsim.TableLen/count)), place{s: s, at: at})
}

var _ = register(40, gcGroup)

// gcGroup reads frames beside a heap that is costly to collect.
func gcGroup() []lab.Scenario {
	return []lab.Scenario{{
		Name:     "gc-pressure",
		Title:    "frames of 256 to 1,024 bytes by a goroutine for each processor, beside a live heap of pointers",
		Op:       "frame",
		Metric:   lab.NsPerOp,
		Baseline: "peek",
		Ops:      100_000,
		Targets:  noGarbage("next", "range", "readbuf"),
		Variants: variants(allFrames, func(env lab.Env, w way) (lab.Runner, error) {
			f, heap := newReaders(w, shortFrames(env), env, 1), newSessions()
			return runner{func(ops int) (lab.Sample, error) {
				defer runtime.KeepAlive(heap)
				return f.Run(ops)
			}, f.Close}, nil
		}),
	}}
}

// sessionCount is how many sessions are alive beside a reader: about what
// makes one collection take a millisecond of a processor.
const sessionCount = 10_000

// A session is a piece of a server's state, for the collector to look at.
type session struct {
	next  *session
	name  *[32]byte
	peers [4]*session
}

func newSessions() *session {
	var head *session
	ring := make([]*session, 64)
	for i := range sessionCount {
		s := &session{next: head, name: new([32]byte)}
		for j := range s.peers {
			s.peers[j] = ring[(i*7+j*13)%len(ring)]
		}
		ring[i%len(ring)] = s
		head = s
	}
	return head
}
