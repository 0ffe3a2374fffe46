package diagnose

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// collecting reports whether a stack is the collector's work, except on idle processors.
func collecting(frames []evidence.Frame) bool {
	return through(frames, isGC) && !through(frames, isIdleGC)
}

// allocations: much of the processor time goes into making garbage and taking
// it away.
func allocations(s *sight) Finding {
	gc := s.cpuShare(collecting)
	malloc := s.cpuShare(func(frames []evidence.Frame) bool { return through(frames, isMalloc) && !collecting(frames) })
	if malloc == 0 {
		return Finding{}
	}
	f := Finding{
		Tool: s.cpuTool, Share: malloc + gc, Top: firstPlace(ownSpots(s.cpu, passing(isMalloc)), "mallocgc"),
		Score: (malloc + gc) * s.busy,
		Try:   "use memory again: a buffer that the caller keeps, a sync.Pool of pointers, or views that the reader lends (sluice.BufReader's Next and View)",
	}
	f.Clue = fmt.Sprintf("allocating took %s of the processor time, GC took %s", units.Percent(malloc), units.Percent(gc))
	if top := ownSpots(s.Space, anyStack); len(top) > 0 {
		f.Tool, f.Top, f.Share = evidence.ToolAllocs, place(top[0].frame), top[0].share
		f.Clue += fmt.Sprintf("; %s of the bytes are allocated here", units.Percent(top[0].share))
		if n := s.perOp(s.Allocs); n >= 0.1 {
			f.Clue += fmt.Sprintf(", %.1f allocations for each operation", n)
		}
	}
	return f
}

// perOp is a profile's total for each operation, 0 if either is not known.
func (s *sight) perOp(p *evidence.Profile) float64 {
	if empty(p) || s.Ops <= 0 {
		return 0
	}
	return float64(p.Total) / float64(s.Ops)
}

// collections: the collector has much to do, be it for much garbage or for a
// large heap that it marks again and again.
func collections(s *sight) Finding {
	gc := s.cpuShare(collecting)
	f := Finding{
		Tool: s.cpuTool, Share: gc, Top: "runtime.gcBgMarkWorker", Score: gc * s.busy,
		Try: "fewer allocations; fewer pointers in what is kept; a higher GOGC, with GOMEMLIMIT as the bound, where memory is left",
	}
	f.Clue = fmt.Sprintf("GC took %s of the processor time", units.Percent(gc))
	if t := s.Trace; t != nil && t.Took > 0 && t.GCs > 0 {
		f.Clue += fmt.Sprintf(": %s collections in %s, in one %s of the time, the world stopped for %s",
			units.Count(int64(t.GCs)), units.Time(t.Took), units.Percent(min(1, t.GC.Seconds()/t.Took.Seconds())), units.Time(t.Stopped))
	}
	return f
}
