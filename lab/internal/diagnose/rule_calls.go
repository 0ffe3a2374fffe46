package diagnose

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// emptyPolls: most calls find nothing to do.
func emptyPolls(s *sight) Finding {
	if s.Calls == nil {
		return Finding{}
	}
	m := &s.reads
	kind, name := isRead, "reads"
	if s.writes.failed > m.failed {
		m, kind, name = &s.writes, isWrite, "writes"
	}
	// One that finds nothing for each that finds something is how a poller works.
	if m.again() < 2.5 || m.failed < 100 {
		return Finding{}
	}
	part := float64(m.failed) / float64(m.failed+max(0, m.count))
	cpu := s.cpuIn(kind)
	return Finding{
		Tool: evidence.ToolStrace, Top: firstPlace(ownSpots(s.cpu, passing(kind)), "EAGAIN"), Share: part,
		Score: part * cpu * s.busy / 2,
		Clue:  fmt.Sprintf("%s of %s found nothing (EAGAIN), %.1f for each that did; they took %s of the processor time", units.Percent(part), name, m.again(), units.Percent(cpu)),
		Try:   "wait until the poller says that there is something; no loops over sockets that are not ready",
	}
}

// manyCalls: most of the processor time is the kernel's, whatever the calls.
func manyCalls(s *sight) Finding {
	cpu := s.cpuIn(either(isSyscall, isRead, isWrite, isFileSync))
	if cpu < 0.3 {
		return Finding{}
	}
	f := Finding{
		Tool: s.cpuTool, Top: firstPlace(ownSpots(s.cpu, passing(isSyscall)), "system calls"), Share: cpu,
		Score: 0.19 * cpu * s.busy, // a hint, never more
		Clue:  fmt.Sprintf("system calls took %s of the processor time", units.Percent(cpu)),
		Try:   "fewer and larger calls: larger buffers, net.Buffers, one goroutine that writes for many",
	}
	if c := s.Calls; c != nil && len(c.ByName) > 0 {
		f.Tool = evidence.ToolStrace
		f.Clue += fmt.Sprintf("; most were %s, %s of them", c.ByName[0].Name, units.Percent(float64(c.ByName[0].Count)/float64(max(c.Total, 1))))
		if c.Ops > 0 {
			f.Clue += fmt.Sprintf(", %.2g calls for each operation", float64(c.Total)/float64(c.Ops))
		}
	}
	return f
}

// switches: the scheduler is what works.
func switches(s *sight) Finding {
	cpu := s.cpuShare(func(frames []evidence.Frame) bool { return through(frames, isScheduler) && !through(frames, isGC) })
	if cpu < 0.1 {
		return Finding{}
	}
	f := Finding{
		Tool: s.cpuTool, Top: "runtime.schedule", Share: cpu,
		// Less than half: most of the work has to be switched to some time.
		Score: 0.4 * cpu * s.busy,
		Clue:  fmt.Sprintf("putting goroutines to sleep and waking them took %s of the processor time", units.Percent(cpu)),
		Try:   "hand over more at a time: batches on channels, fewer goroutines that pass single things on, more work for each wake-up",
	}
	if t := s.Trace; t != nil && t.Latency.Count > 0 && t.Took > 0 {
		f.Clue += fmt.Sprintf(": %s switches a second", units.Count(int64(float64(t.Latency.Count)/t.Took.Seconds())))
	}
	return f
}
