package scenarios

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/netsim"
)

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
	all := make([]*walker, readersPerCPU*runtime.GOMAXPROCS(0)*apart)
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
		errs := []error{pool.stop()}
		for _, r := range all {
			errs = append(errs, r.Close())
		}
		return errors.Join(errs...)
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
