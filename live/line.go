package live

import "time"

// A line holds what was measured of a slow viewer's connection. It belongs to the
// viewer's owner.
type line struct {
	slow      bool  // it has been slow: looked at before each send
	joined    int64 // when the viewer came, on the stream's clock
	*measured       // nil for most viewers, which have never been slow
}

type measured struct {
	quota  int           // bytes that may be queued here and not be on their way
	cost   float64       // seconds that it takes for a byte; 0: not known
	at     time.Time     // when that was measured
	passed int64         // bytes that the peer had acknowledged by then
	left   int64         // when pictures were left out, the latest, on the stream's clock
	delay  time.Duration // how long what is queued takes
	taken  bool          // nothing is queued: the peer has taken all
	jumps  []time.Time   // when the viewer was moved on to a key frame, oldest first
}

func (l *line) measure() *measured {
	if l.measured == nil {
		l.measured = new(measured)
	}
	return l.measured
}

const (
	// quotaTime is for how long a line's queue suffices at the stream's rate.
	quotaTime = 150 * time.Millisecond
	minQuota  = 4 << 10
	maxQuota  = 256 << 10
	// usualQuota is for streams of which too little has come.
	usualQuota = 16 << 10
	// rateTime is how often the line's rate is measured, at most.
	rateTime = 100 * time.Millisecond
)

// quotaOf returns how many bytes of a stream with so many bytes a second may be
// in a socket's queue without being on their way.
func quotaOf(rate float64) int {
	if rate == 0 {
		return usualQuota
	}
	return min(max(int(rate*quotaTime.Seconds()), minQuota), maxQuota)
}
