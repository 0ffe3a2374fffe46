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
	read := lab.Scenario{
		Name:     "concurrent-read",
		Title:    fmt.Sprintf("frames of 256 to 1,024 bytes by %d goroutines for each processor, network %v", readersPerCPU, netsim.Normal),
		Op:       "frame",
		Metric:   lab.NsPerOp,
		Baseline: "peek",
		Ops:      200_000,
	}
	for _, w := range allFrames {
		read.Variants = append(read.Variants, lab.Variant{Name: w.name, About: w.about, Open: func(env lab.Env) (lab.Runner, error) {
			return newReaders(w, shortFrames(env), env, readersPerCPU), nil
		}})
	}
	parse := lab.Scenario{
		Name:     "protocol-parsing",
		Title:    fmt.Sprintf("FLV tags of a clip parsed by %d goroutines for each processor, network %v", readersPerCPU, netsim.Normal),
		Op:       "tag",
		Metric:   lab.NsPerOp,
		Baseline: "peek",
		Ops:      100_000,
	}
	for _, w := range allTags {
		parse.Variants = append(parse.Variants, lab.Variant{Name: w.name, About: w.about, Open: func(env lab.Env) (lab.Runner, error) {
			s, err := tags()
			if err != nil {
				return nil, err
			}
			return newReaders(w, s.bare(), env, readersPerCPU), nil
		}})
	}
	return []lab.Scenario{read, parse}
}

// apart is how many walkers that do nothing are made after each one that does.
// Small objects that are made one after the other lie side by side: two
// walkers would share cache lines or not, as memory happened to lie, and two copies of the same
// variant differ by a factor of two for as long as the process lived.
const apart = 8

// newReaders makes a fleet of so many goroutines for each processor, which
// walk the same bytes from places spread over them.
func newReaders(w way, s *stream, env lab.Env, perCPU int) *fleet {
	sizes := netsim.Draw(netsim.Normal, env.Seed)
	walkers := make([]*walker, perCPU*runtime.GOMAXPROCS(0))
	var spacers []*walker
	for i := range walkers {
		at := i * s.units() / len(walkers)
		made := func() *walker {
			src := sizes.Reader(s.source(at), uint(i*netsim.TableLen/len(walkers)))
			return newWalker(w, src, place{s: s, at: at})
		}
		walkers[i] = made()
		for range apart {
			spacers = append(spacers, made())
		}
	}
	f := newFleet(walkers)
	f.spacers = spacers
	return f
}

var _ = register(40, gcGroup)

// gcGroup reads frames beside a heap that is costly to collect.
func gcGroup() []lab.Scenario {
	sc := lab.Scenario{
		Name:     "gc-pressure",
		Title:    "frames of 256 to 1,024 bytes by a goroutine for each processor, beside a live heap of pointers",
		Op:       "frame",
		Metric:   lab.NsPerOp,
		Baseline: "peek",
		Ops:      100_000,
		Targets:  noGarbage("next", "range", "readbuf"),
	}
	for _, w := range allFrames {
		sc.Variants = append(sc.Variants, lab.Variant{Name: w.name, About: w.about, Open: func(env lab.Env) (lab.Runner, error) {
			return &burdened{newReaders(w, shortFrames(env), env, 1), newSessions()}, nil
		}})
	}
	return []lab.Scenario{sc}
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

// burdened is a fleet with a heap beside it.
type burdened struct {
	*fleet
	sessions *session
}

func (b *burdened) Run(ops int) (lab.Sample, error) {
	out, err := b.fleet.Run(ops)
	runtime.KeepAlive(b.sessions)
	return out, err
}
