package udpline

import (
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
)

// Options say how a viewer's line is used.
type Options struct {
	// Bears is the share of the packets that may be lost: little where that breaks pictures, more
	// where lost packets are sent again.
	Bears float64
	// Burst bytes are sent at once, then comes a Pause: a viewer begins with a group of
	// pictures, which no socket's buffer on the way has to lose.
	Burst int
	Pause time.Duration
}

// A Line is the line of a viewer over UDP, as its reports show it. Its methods are for use by
// many goroutines at once, but Pace has one caller at a time.
type Line struct {
	options Options
	burst   int // bytes since the latest pause

	mu     sync.Mutex
	losses losses
	sent   int64     // bytes, without those that were sent again
	free   time.Time // when all that was sent has its time
	mended time.Time // when what was sent again has its share of the time
}

// New makes a Line without a rate.
func New(o Options) *Line { return &Line{options: o, losses: losses{bears: o.Bears}} }

const (
	// headers are those of IP and UDP, of each packet.
	headers = 28
	// lineBurst may be sent at once: timers of a busy machine are that late.
	lineBurst = 20 * time.Millisecond
	// repairShare of the rate may be sent again, so that what is new goes on; repairBurst of
	// that at once.
	repairShare = 0.2
	repairBurst = 500 * time.Millisecond
)

// Pace counts a packet of n bytes that was sent, and pauses while more comes than is usual, or
// than the line carries, until done is closed. A live.Writer, which waits here, then leaves
// pictures out up to a key frame, as over TCP.
func (l *Line) Pace(n int, done <-chan struct{}) {
	wait := l.send(n, time.Now())
	if l.burst += n; l.burst >= l.options.Burst {
		l.burst, wait = 0, max(wait, l.options.Pause)
	}
	waiting.For(wait, done)
}

// send counts a packet, and returns how long to wait before the next.
func (l *Line) send(n int, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent += int64(n + headers)
	if l.losses.rate == 0 {
		return 0
	}
	l.occupy(n, now)
	if wait := l.free.Sub(now); wait > lineBurst {
		return wait
	}
	return 0
}

// Repair reports whether a packet of n bytes may be sent again now, and counts it if so.
func (l *Line) Repair(n int, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	rate := l.losses.rate
	if rate == 0 {
		return true
	}
	if l.mended.Before(now) {
		l.mended = now
	}
	if l.mended.Sub(now) > repairBurst {
		return false
	}
	l.mended = l.mended.Add(lasts(n, rate*repairShare))
	l.occupy(n, now)
	return true
}

// occupy gives a packet its time on the line.
func (l *Line) occupy(n int, now time.Time) {
	if least := now.Add(-lineBurst); l.free.Before(least) {
		l.free = least
	}
	l.free = l.free.Add(lasts(n, l.losses.rate))
}

// lasts is how long a packet of n bytes takes at a rate in bytes/s.
func lasts(n int, rate float64) time.Duration {
	return time.Duration(float64(n+headers) / rate * float64(time.Second))
}

// Hear takes a report of the viewer on its pictures, of which sound is a small part.
func (l *Line) Hear(r Report, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.losses.take(r, l.sent, now)
}
