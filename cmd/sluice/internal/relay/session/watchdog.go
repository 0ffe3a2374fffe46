package session

import (
	"net"
	"sync/atomic"
	"time"
)

// Watchdog bounds the waits for what a publisher sends, however it cuts that up:
// it is not silent for longer than Times.Silence, and sends at least a number of
// bytes a second over each stretch of Times.Rate. It works by the connection's
// read deadline, a short step ahead; when a read fails because of that, Check
// says whether the publisher may go on, and then the read is repeated. Nobody
// else sets the read deadline.
type Watchdog struct {
	conn          net.Conn
	silence, rate time.Duration
	every         time.Duration // between deadlines
	least         int           // bytes a second
	now           func() time.Time

	heard   int64     // bytes received up to the latest step
	at      time.Time // since when there were no more
	before  int64     // bytes received before the stretch over which the rate is measured
	began   time.Time // of that stretch
	stopped atomic.Pointer[error]
}

// NewWatchdogAt begins to wait by another clock: for as long as silence without a
// byte, over stretches of rate, with a deadline each time that every has passed.
func NewWatchdogAt(conn net.Conn, silence, rate, every time.Duration, least int, now func() time.Time) *Watchdog {
	p := &Watchdog{conn: conn, silence: silence, rate: rate, every: every, least: least, now: now}
	p.begin()
	return p
}

// NewWatchdog begins to wait, with a deadline at the end of each window.
func NewWatchdog(conn net.Conn, window time.Duration, least int) *Watchdog {
	return NewWatchdogAt(conn, window, window, window, least, time.Now)
}

// WatchIngest begins to wait, with deadlines so close that silence is noticed
// soon after its time.
func WatchIngest(conn net.Conn, t Times, least int) *Watchdog {
	return NewWatchdogAt(conn, t.Silence, t.Rate, min(t.Step, t.Silence/8), least, time.Now)
}

func (p *Watchdog) begin() {
	now := p.now()
	p.at, p.began = now, now
	p.step(now)
}

func (p *Watchdog) step(now time.Time) { p.conn.SetReadDeadline(now.Add(p.every)) }

// Check is called when the deadline has passed, with the bytes received from
// the beginning. nil means that the read is to be repeated.
func (p *Watchdog) Check(total int64) error {
	now := p.now()
	if total > p.heard {
		p.heard, p.at = total, now
	}
	if now.Sub(p.at) >= p.silence {
		return ErrIdle
	}
	if stretch := now.Sub(p.began); stretch >= p.rate {
		if float64(total-p.before) < float64(p.least)*stretch.Seconds() {
			return ErrTooSlow
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

// Exclude does not count the time that f takes: that of handing a frame on, which
// may have to wait.
func (p *Watchdog) Exclude(f func() error) error {
	began := p.now()
	err := f()
	took := p.now().Sub(began)
	p.at, p.began = p.at.Add(took), p.began.Add(took)
	return err
}

// Stop makes the read that waits, or the next one, fail, and judge return err.
// Any goroutine may call it.
func (p *Watchdog) Stop(err error) {
	if p.stopped.CompareAndSwap(nil, &err) {
		p.conn.SetReadDeadline(time.Unix(1, 0))
	}
}
