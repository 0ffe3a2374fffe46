package webrtc

import (
	"sync"
	"time"

	"github.com/pion/rtcp"
)

// line is a viewer's line as its reports tell it. Writes that it makes wait are late, and the
// live.Writer then leaves pictures out up to a key frame, as over TCP.
type line struct {
	mu     sync.Mutex
	losses losses
	sent   int64     // bytes, without those that were sent again
	free   time.Time // when all that was sent has its time
	mended time.Time // when what was sent again has its share of the time
}

const (
	// sendCost is what a packet has beside its payload: headers of IP, UDP and RTP, and what
	// belongs to the encryption.
	sendCost = 28 + headerLen + 10
	// lineBurst may be sent at once.
	lineBurst = 10 * time.Millisecond
	// repairShare of the rate may be sent again, so that what is new goes on; repairBurst of
	// that at once.
	repairShare = 0.2
	repairBurst = 500 * time.Millisecond
)

// send counts a packet, and returns how long to wait before the next.
func (l *line) send(n int, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent += int64(n + sendCost)
	if l.losses.rate == 0 {
		return 0
	}
	l.occupy(n, now)
	if wait := l.free.Sub(now); wait > lineBurst {
		return wait
	}
	return 0
}

// repair reports whether a packet may be sent again, and counts it if so.
func (l *line) repair(n int, now time.Time) bool {
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
	l.mended = l.mended.Add(lasts(n+sendCost, rate*repairShare))
	l.occupy(n, now)
	return true
}

// occupy gives a packet its time on the line.
func (l *line) occupy(n int, now time.Time) {
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(lasts(n+sendCost, l.losses.rate))
}

// lasts is how long n bytes take at a rate in bytes/s.
func lasts(n int, rate float64) time.Duration {
	return time.Duration(float64(n) / rate * float64(time.Second))
}

// hear takes the viewer's reports on its pictures.
func (l *line) hear(list []rtcp.ReceptionReport, ssrc uint32, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range list {
		if list[i].SSRC == ssrc {
			l.losses.take(&list[i], l.sent, now)
		}
	}
}
