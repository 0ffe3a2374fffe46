package relay

import (
	"net"
	"sync/atomic"
	"time"
)

// patience bounds the waits for what a publisher sends, however it cuts that up:
// it is not silent for longer than times.silence, and sends at least minRate
// bytes a second over each stretch of times.rate. It works by the connection's
// read deadline, a short step ahead; when a read fails because of that, judge
// says whether the publisher may go on, and then the read is repeated. Nobody
// else sets the read deadline.
type patience struct {
	conn          net.Conn
	silence, rate time.Duration
	every         time.Duration // between deadlines
	now           func() time.Time

	heard   int64     // bytes received up to the latest step
	at      time.Time // since when there were no more
	before  int64     // bytes received before the stretch over which the rate is measured
	began   time.Time // of that stretch
	stopped atomic.Pointer[error]
}

// newPatience begins to wait, with a deadline at the end of each window.
func newPatience(conn net.Conn, window time.Duration) *patience {
	p := &patience{conn: conn, silence: window, rate: window, every: window, now: time.Now}
	p.begin()
	return p
}

// patienceOf begins to wait, with deadlines so close that silence is noticed
// soon after its time.
func patienceOf(conn net.Conn, t times) *patience {
	p := &patience{conn: conn, silence: t.silence, rate: t.rate, every: min(t.step, t.silence/8), now: time.Now}
	p.begin()
	return p
}

func (p *patience) begin() {
	now := p.now()
	p.at, p.began = now, now
	p.step(now)
}

func (p *patience) step(now time.Time) { p.conn.SetReadDeadline(now.Add(p.every)) }

// judge is called when the deadline has passed, with the bytes received from
// the beginning. nil means that the read is to be repeated.
func (p *patience) judge(total int64) error {
	now := p.now()
	if total > p.heard {
		p.heard, p.at = total, now
	}
	if now.Sub(p.at) >= p.silence {
		return errIdle
	}
	if stretch := now.Sub(p.began); stretch >= p.rate {
		if float64(total-p.before) < minRate*stretch.Seconds() {
			return errTooSlow
		}
		p.before, p.began = total, now
	}
	// The deadline first: a stop that comes in between sets it again.
	p.step(now)
	if err := p.stopped.Load(); err != nil {
		return *err
	}
	return nil
}

// apart does not count the time that f takes: that of handing a frame on, which
// may have to wait.
func (p *patience) apart(f func() error) error {
	began := p.now()
	err := f()
	took := p.now().Sub(began)
	p.at, p.began = p.at.Add(took), p.began.Add(took)
	return err
}

// stop makes the read that waits, or the next one, fail, and judge return err.
// Any goroutine may call it.
func (p *patience) stop(err error) {
	if p.stopped.CompareAndSwap(nil, &err) {
		p.conn.SetReadDeadline(time.Unix(1, 0))
	}
}
