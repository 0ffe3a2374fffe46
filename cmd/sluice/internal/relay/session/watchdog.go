package session

import (
	"net"
	"sync/atomic"
	"time"
)

// Watchdog enforces a publisher's limits, independent of how it splits its data:
// no silence longer than Times.Silence, and a least number of bytes a second over
// each window of Times.Rate. It uses the connection's read deadline, a short step
// ahead. When a read fails because of that deadline, Check says whether the
// publisher may go on; if so, the caller repeats the read. No other code may set
// the read deadline.
type Watchdog struct {
	conn          net.Conn
	silence, rate time.Duration
	every         time.Duration // between deadlines
	least         int           // bytes a second
	now           func() time.Time

	heard   int64     // bytes received up to the latest step
	at      time.Time // when heard last changed
	before  int64     // bytes received before the current rate window
	began   time.Time // of that window
	due     time.Time // the deadline
	excused bool      // the latest deadline was noticed too late to judge by it
	stopped atomic.Pointer[error]
}

// NewWatchdogAt starts a watchdog with the clock now. silence is the longest time
// without a byte, rate the window of the least rate, every the time between read
// deadlines.
func NewWatchdogAt(conn net.Conn, silence, rate, every time.Duration, least int, now func() time.Time) *Watchdog {
	p := &Watchdog{conn: conn, silence: silence, rate: rate, every: every, least: least, now: now}
	p.begin()
	return p
}

// NewWatchdog starts a watchdog with a deadline at the end of each window, so that silence is
// noticed after at most twice its limit.
func NewWatchdog(conn net.Conn, t Times, least int) *Watchdog {
	return NewWatchdogAt(conn, t.Silence, t.Rate, min(t.Silence, t.Rate), least, time.Now)
}

// WatchIngest starts a watchdog with short steps, so that silence is noticed soon
// after its limit.
func WatchIngest(conn net.Conn, t Times, least int) *Watchdog {
	return NewWatchdogAt(conn, t.Silence, t.Rate, min(t.Step, t.Silence/8), least, time.Now)
}

func (p *Watchdog) begin() {
	now := p.now()
	p.at, p.began = now, now
	p.step(now)
}

func (p *Watchdog) step(now time.Time) {
	p.due = now.Add(p.every)
	p.conn.SetReadDeadline(p.due)
}

// Check is called when the deadline has passed, with the number of bytes received
// since the beginning. nil means: repeat the read.
func (p *Watchdog) Check(total int64) error {
	now := p.now()
	if total > p.heard {
		p.heard, p.at = total, now
	}
	if late := now.Sub(p.due); late >= p.every/8 && !p.excused {
		// This process stood still, and what came meanwhile has not been read.
		p.excused = true
		p.at, p.began = p.at.Add(late), p.began.Add(late)
		p.step(now)
		return p.reason()
	}
	p.excused = false
	if now.Sub(p.at) >= p.silence {
		return Silent(p.silence)
	}
	if stretch := now.Sub(p.began); stretch >= p.rate {
		if float64(total-p.before) < float64(p.least)*stretch.Seconds() {
			return TooSlow(p.least, p.rate)
		}
		p.before, p.began = total, now
	}
	// Set the deadline before checking stopped: a Stop in between sets the
	// deadline again.
	p.step(now)
	return p.reason()
}

func (p *Watchdog) reason() error {
	if err := p.stopped.Load(); err != nil {
		return *err
	}
	return nil
}

// Resume sets the deadline again after a time in which nothing was read, which does not
// count.
func (p *Watchdog) Resume() {
	now := p.now()
	p.at, p.began = now, now
	p.step(now)
	if p.stopped.Load() != nil {
		p.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// Exclude runs f and does not count its time: publishing a frame may block.
func (p *Watchdog) Exclude(f func() error) error {
	began := p.now()
	err := f()
	took := p.now().Sub(began)
	p.at, p.began, p.due = p.at.Add(took), p.began.Add(took), p.due.Add(took)
	return err
}

// Stop makes the current or the next read fail, and Check return err. Any
// goroutine may call it.
func (p *Watchdog) Stop(err error) {
	if p.stopped.CompareAndSwap(nil, &err) {
		p.conn.SetReadDeadline(time.Unix(1, 0))
	}
}
