package scenarios

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// A fan hands frames to keepers in one goroutine. Its walk comes to the marks
// of the frames that were let go, each keeper counting for itself, and to
// none while the keepers take their first frames.
type fan interface {
	walk
	// end lets go what the keepers hold and gives back the rest.
	end()
	// pinned returns how many bytes are held back when the keepers hold so many
	// frames together, and so many different ones.
	pinned(held, different int) int64
}

// A fanOf is a fan and the steps of it, for receivers in other goroutines.
type fanOf[T any] interface {
	fan
	// next reads a frame and fills refs with references to it.
	next(refs []T) error
	// letGo looks at a frame for the last time, and releases it.
	letGo(T) uint64
	// pass gives each keeper, all of them full, its reference to a frame and
	// lets go what they give up for it.
	pass(keep []keeper[T], refs []T) uint64
}

// A fanWalk is a walk whose keepers hold something until its end.
type fanWalk interface {
	walk
	end()
}

// A pinWalk is a fanWalk that can say how much it pinned while it walked n
// units, for each byte alive.
type pinWalk interface {
	fanWalk
	probe(n int) (ratio float64, sum uint64, err error)
}

// probed watches a fan of one goroutine, in which all keepers hold the same
// frames.
type probed struct {
	fan
	c crowd
}

func (p probed) probe(n int) (ratio float64, sum uint64, err error) {
	for range n {
		k, err := p.walk(1)
		if err != nil {
			return 0, 0, err
		}
		sum += k
		ratio = max(ratio, float64(p.pinned(p.c.keepers*p.c.depth, p.c.depth))/float64(p.c.depth*fanFrame))
	}
	return ratio, sum, nil
}

// fanRunner runs a fan whose keepers are full.
type fanRunner struct {
	place
	w       fanWalk
	figures map[string]float64
}

// probeRefs is how many references pass while the pinned bytes are watched.
// That happens before the clock runs, on the path that is then measured.
const probeRefs = 24_576

func newFanRunner(w fanWalk, s *stream, c crowd) (lab.Runner, error) {
	r := &fanRunner{place: place{s: s, times: uint64(c.keepers)}, w: w, figures: map[string]float64{}}
	if sum, err := w.walk(c.depth); err != nil || sum != 0 {
		w.end()
		return nil, fmt.Errorf("scenarios: filling the keepers: sum %#x, error %v", sum, err)
	}
	p, ok := w.(pinWalk)
	if !ok {
		return r, nil
	}
	frames := max(probeRefs/c.keepers, 2*c.depth)
	ratio, sum, err := p.probe(frames)
	if err == nil {
		_, err = r.account(frames, sum)
	}
	if err != nil {
		w.end()
		return nil, err
	}
	r.figures[pinnedRatio] = ratio
	return r, nil
}

func (r *fanRunner) Run(ops int) (lab.Sample, error) {
	sum, err := r.w.walk(ops)
	if err != nil {
		return lab.Sample{}, err
	}
	out, err := r.account(ops, sum)
	out.Figures = r.figures
	return out, err
}

func (r *fanRunner) Close() error {
	r.w.end()
	return nil
}
