package load

import "math"

// A schedule says when the requests of one connection are due, in nanoseconds since
// the run began. It does not depend on earlier requests being answered. The rate is
// spread evenly over the connections, and their first requests over one interval.
type schedule struct {
	first, every float64
	count        float64 // requests so far
}

// newSchedule returns the schedule of connection number of all of a plan's, nil in a closed
// loop.
func newSchedule(p *Plan, number int) *schedule {
	if p.Rate == 0 {
		return nil
	}
	return &schedule{first: float64(number) / p.Rate * 1e9, every: float64(p.Conns) / p.Rate * 1e9}
}

// next returns when a request is due; never when that is after every run.
func (s *schedule) next() int64 {
	due := s.first + s.every*s.count
	s.count++
	if due >= math.MaxInt64 {
		return never
	}
	return int64(due)
}
