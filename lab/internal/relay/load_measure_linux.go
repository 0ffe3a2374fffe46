package relay

import (
	"math"

	"github.com/sluice-go/sluice/lab/internal/rawio"
)

// measure runs the window, and waits for the rest of its frames.
func (l *load) measure() (r Result, err error) {
	var late lags
	l.pub.late = &late
	l.strict = false
	since, sent := l.tally.delivered, l.show.n
	for i := range l.viewers {
		l.viewers[i].mark = l.viewers[i].bytes
	}
	cpu, err := rawio.CPUTime(l.work.Server)
	if err != nil {
		return r, err
	}
	own, _ := rawio.CPUTime(0) // of this process it does not fail
	start := l.now()
	l.tally.from, l.tally.to = start, start+l.work.Window
	if err := l.pass(start + l.work.Window); err != nil {
		return r, err
	}
	ownAfter, _ := rawio.CPUTime(0)
	r.Window, r.Busy = l.now()-start, float64(ownAfter-own)/float64(l.now()-start)
	after, err := rawio.CPUTime(l.work.Server)
	if err != nil {
		return r, err
	}
	r.CPU, r.Published, r.Delivered = after-cpu, l.show.n-sent, l.tally.delivered-since
	if r.Resident, err = rawio.Resident(l.work.Server); err != nil {
		return r, err
	}
	l.addBytes(&r)
	l.pub.late = nil
	ends := l.ends()
	// What is late is not lost yet; what has not come by then is.
	_ = l.until(func() bool { return l.behind(ends) == 0 }, drainTime, "the last frames")
	r.Since, r.Closed, r.Odd, r.Oddity = l.tally.delivered-since, l.closed, l.tally.oddities, l.tally.oddity
	l.addSeats(&r, ends)
	r.LagP50, r.LagP99, r.LagMax = l.tally.lag.quantile(0.5), l.tally.lag.quantile(0.99), l.tally.lag.max
	r.Late = late.quantile(0.99)
	return r, nil
}

func (l *load) addBytes(r *Result) {
	r.Least = math.MaxInt64
	for i := range l.viewers {
		n := l.viewers[i].bytes - l.viewers[i].mark
		r.Bytes += n
		r.Least, r.Most = min(r.Least, n), max(r.Most, n)
	}
}

// addSeats adds up what the viewers lack.
func (l *load) addSeats(r *Result, ends [2]int) {
	var keys lags
	for i := range l.viewers {
		v := &l.viewers[i]
		r.Lost += v.seat.lost(ends)
		if v.seat.key > 0 {
			keys.add(v.seat.key - v.asked)
		}
	}
	r.KeyP50, r.KeyMax = keys.quantile(0.5), keys.max
}
