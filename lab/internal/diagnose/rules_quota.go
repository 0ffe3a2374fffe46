package diagnose

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// cpuQuota: the program's control group has used up its quota of processor time, and is stopped until
// the next period.
func cpuQuota(s *facts) (Finding, string) {
	q := s.Quota
	if q == nil || q.Periods <= 0 || q.Stopped <= 0 || s.Took <= 0 {
		return Finding{}, ""
	}
	part := min(1, float64(q.Throttled)/float64(q.Periods))
	// Others of the group may have used it up: only what the program itself worked and waited counts. What the
	// processes that it started waited is not known.
	worked, waited := s.CPUTime, s.Queued
	if s.cpu != nil && time.Duration(s.cpu.Total) > 2*worked {
		worked, waited = time.Duration(s.cpu.Total), q.Stopped
	}
	lost := q.Stopped.Seconds() / (q.Stopped + worked).Seconds() * min(1, (worked+waited).Seconds()/s.Took.Seconds())
	f := finding(evidence.ToolCgroup, "control group "+q.Group, part, min(lost, part),
		"stopped in %s of %s periods, for %s of all processors' time within %s, since its quota was used up", units.Count(q.Throttled), units.Count(q.Periods), units.Time(q.Stopped), units.Time(s.Took))
	if q.Processors > 0 {
		f.Clue += fmt.Sprintf(": %.2f processors", q.Processors)
	}
	return f, ""
}
