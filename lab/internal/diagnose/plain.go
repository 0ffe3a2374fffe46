package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// plain repeats what each tool saw most of, in the order of the tools.
func (s *sight) plain() []Finding {
	var list []Finding
	add := func(tool, top string, share float64, clue string) {
		list = append(list, Finding{Tool: tool, Top: top, Share: min(max(share, 0), 1), Clue: clue})
	}
	for _, p := range []struct {
		tool    string
		profile *evidence.Profile
		clue    string
	}{
		{evidence.ToolCPU, s.CPU, "of the processor time in the function itself"},
		{evidence.ToolAllocs, s.Space, "of the bytes allocated"},
		{evidence.ToolLocks, s.Block, "of the time that goroutines waited"},
	} {
		at := innermost
		if p.tool != evidence.ToolCPU {
			at = func(frames []evidence.Frame) evidence.Frame { f, _ := own(frames); return f }
		}
		if top := spots(p.profile, anyStack, at); len(top) > 0 {
			add(p.tool, place(top[0].frame), top[0].share, units.Percent(top[0].share)+" "+p.clue+", "+inAll(p.profile))
		} else if p.tool == evidence.ToolAllocs && p.profile != nil {
			add(p.tool, "nothing", 0, "no allocation that the profile saw")
		}
	}
	if t := s.Trace; t != nil && t.Took > 0 {
		i := slices.IndexFunc(t.Blocked, func(b evidence.Blocking) bool { return len(b.Frames) > 0 })
		if i >= 0 && t.Waiting > 0 {
			b := t.Blocked[i]
			f, _ := own(b.Frames)
			add(evidence.ToolTrace, place(f), b.Time.Seconds()/t.Waiting.Seconds(),
				fmt.Sprintf("the longest wait: %s, %s times, %s in all", orUnknown(b.Reason), units.Count(b.Count), units.Time(b.Time)))
		} else {
			add(evidence.ToolTrace, "running", min(1, t.Running.Seconds()/t.Took.Seconds()), "no goroutine waited")
		}
	}
	if c := s.Calls; c != nil && len(c.ByName) > 0 && c.Total > 0 {
		top := c.ByName[0]
		clue := fmt.Sprintf("%s calls", units.Count(top.Count))
		if size, _ := usual(sizesOf(top.Sizes)); size > 0 {
			clue += fmt.Sprintf(", most often of %s", units.Bytes(size))
		}
		add(evidence.ToolStrace, top.Name, float64(top.Count)/float64(c.Total), clue)
	}
	if p := s.Perf; p != nil {
		if len(p.Counters) > 0 {
			add(evidence.ToolPerfStat, "counters", 0, counters(p.Counters))
		}
		if top := spots(p.Profile, anyStack, innermost); len(top) > 0 {
			add(evidence.ToolPerfRecord, place(top[0].frame), top[0].share, units.Percent(top[0].share)+" of the processor time, the kernel's included")
		}
	}
	if part, from, to, ok := s.lost(); ok {
		add(evidence.ToolScaling, fmt.Sprintf("%d processors", to.procs), part, fmt.Sprintf("they do %.2f times the work of %d", to.rate/from.rate, from.procs))
	} else if from.procs > 0 && from.procs < to.procs {
		add(evidence.ToolScaling, fmt.Sprintf("%d processors", to.procs), 0,
			fmt.Sprintf("they do %.2f times the work of %d, with %.1f goroutines running at a time", to.rate/from.rate, from.procs, s.parallel()))
	}
	return list
}

// inAll is a profile's total in words.
func inAll(p *evidence.Profile) string {
	switch p.Unit {
	case "ns":
		return units.Time(time.Duration(p.Total)) + " in all"
	case "B":
		return units.Bytes(p.Total) + " in all"
	}
	return units.Count(p.Total) + " in all"
}

func orUnknown(reason string) string {
	if reason == "" {
		return "unknown"
	}
	return reason
}

func sizesOf(list []evidence.Size) map[int64]int64 {
	m := map[int64]int64{}
	for _, s := range list {
		m[s.Bytes] += s.Count
	}
	return m
}

// counters names a few of perf's, the usual ones first.
func counters(all map[string]float64) string {
	var words []string
	if i, c := all["instructions"], all["cycles"]; i > 0 && c > 0 {
		words = append(words, fmt.Sprintf("%.2f instructions in a cycle", i/c))
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(n string) bool { return strings.HasSuffix(n, "_time") })
	for _, first := range []string{"cache-misses", "context-switches", "cpu-migrations", "page-faults"} {
		if v, ok := all[first]; ok {
			words = append(words, fmt.Sprintf("%s %s", units.Count(int64(v)), first))
			names = slices.DeleteFunc(names, func(n string) bool { return n == first })
		}
	}
	for _, n := range names {
		if len(words) >= 4 {
			break
		}
		words = append(words, fmt.Sprintf("%s %s", units.Count(int64(all[n])), n))
	}
	return strings.Join(words, ", ")
}
