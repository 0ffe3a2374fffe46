package diagnose

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// plain repeats what each tool saw most of, in the order of the tools.
func (s *facts) plain() []Finding {
	var list []Finding
	add := func(tool, top string, share float64, clue string) {
		list = append(list, Finding{Tool: tool, Top: top, Share: min(max(share, 0), 1), Clue: clue})
	}
	for _, p := range []struct {
		tool    string
		profile *evidence.Profile
		at      func([]evidence.Frame) evidence.Frame
		clue    string
	}{
		{evidence.ToolCPU, s.CPU, innermost, "of the processor time in the function itself"},
		{evidence.ToolAllocs, s.Space, ownOrInnermost, "of the bytes allocated"},
		{evidence.ToolLocks, s.Block, ownOrInnermost, "of the time that goroutines waited"},
		{evidence.ToolPerfRecord, s.Perf, innermost, "of the processor time in the function itself, the kernel's included"},
	} {
		if top := spots(p.profile, anyStack, p.at); len(top) > 0 {
			add(p.tool, place(top[0].frame), top[0].share, units.Percent(top[0].share)+" "+p.clue+", "+inAll(p.profile))
		} else if p.profile != nil {
			add(p.tool, "nothing", 0, "no sample")
		}
	}
	if w := s.Waits; w != nil && len(w.Places) > 0 {
		tool := evidence.ToolGoroutines
		if !s.Saw(tool) {
			tool = evidence.ToolTrace
		}
		p := w.Places[0]
		add(tool, place(ownOrInnermost(p.Frames)), p.Mean/max(1e-9, w.Running+w.Runnable+w.Syscall+w.Waiting), fmt.Sprintf("%.1f of %d goroutines at any time: %s", p.Mean, w.Last, p.Reason))
	}
	if c := s.Calls; c != nil {
		if len(c.ByName) > 0 && c.Total > 0 {
			top := c.ByName[0]
			clue := units.Count(top.Count) + " calls"
			if len(top.Sizes) > 0 && top.Sizes[0].Bytes > 0 {
				clue += ", most often of " + units.Bytes(top.Sizes[0].Bytes)
			}
			add(evidence.ToolStrace, top.Name, float64(top.Count)/float64(c.Total), clue)
		} else {
			add(evidence.ToolStrace, "nothing", 0, "no system call ended")
		}
	}
	if sh := s.Sharing; sh != nil && sh.Samples > 0 {
		add(evidence.ToolSharing, "cache lines", sh.Shared, fmt.Sprintf("%s of %s samples with several threads running, %s at a line that several used", units.Percent(sh.Parallel), units.Count(sh.Samples), units.Percent(sh.Shared)))
	}
	return list
}

func inAll(p *evidence.Profile) string {
	switch p.Unit {
	case "ns":
		return units.Time(time.Duration(p.Total)) + " in all"
	case "B":
		return units.Bytes(p.Total) + " in all"
	}
	return units.Count(p.Total) + " in all"
}
