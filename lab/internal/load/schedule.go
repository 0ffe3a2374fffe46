package load

import (
	"time"

	"golang.org/x/time/rate"
)

// A schedule says when the requests of one connection are due, in nanoseconds since
// the run began. It does not depend on earlier requests being answered. The rate is
// spread evenly over the connections, and their first requests over one interval.
type schedule struct {
	limiter *rate.Limiter
	cursor  time.Time // when the last one was due
	bytes   bool
}

// origin is the moment that schedules count from; any will do.
var origin = time.Unix(0, 0)

// newSchedule returns the schedule of connection number of all of a plan's, nil in a closed
// loop.
func newSchedule(p *Plan, number int) *schedule {
	if p.Rate == 0 {
		return nil
	}
	s := &schedule{bytes: p.RateBytes}
	each := p.Rate / float64(p.Conns)
	burst, first := 1, float64(number)/p.Rate
	if s.bytes {
		// A token bucket that holds the longest request and begins empty.
		burst = p.Sizes.Max
		first *= p.Sizes.Mean()
	}
	s.limiter = rate.NewLimiter(rate.Limit(each), burst)
	s.cursor = origin.Add(time.Duration(first * 1e9))
	if s.bytes {
		s.limiter.AllowN(s.cursor, burst)
	}
	return s
}

// next returns when a request of size payload bytes is due.
func (s *schedule) next(size int) int64 {
	n := 1
	if s.bytes {
		n = size
	}
	wait := s.limiter.ReserveN(s.cursor, n).DelayFrom(s.cursor)
	if wait > forever {
		wait = forever
	}
	s.cursor = s.cursor.Add(wait)
	return s.cursor.Sub(origin).Nanoseconds()
}

// forever is longer than any run.
const forever = 1000 * time.Hour
