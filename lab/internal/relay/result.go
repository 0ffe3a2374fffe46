package relay

import (
	"math"
	"time"
)

// The forms in which viewers take a stream.
const (
	RTMP = "rtmp"
	FLV  = "flv" // over HTTP
)

// Work is what a Load has to do.
type Work struct {
	Publish string        // HOST:PORT where the server takes RTMP
	View    string        // HOST:PORT where it gives Form
	Form    string        // RTMP or FLV
	App     string        // the stream's name in two parts
	Stream  string        //
	Viewers int           //
	Warm    time.Duration // before the first viewer joins, and at least between the last one's joining and readiness
	Window  time.Duration // what is measured
	Clip    string        // the path of an FLV file
	Server  int           // the number of the server's process
}

// A Result is what a window came to. A frame is one that was published; a frame
// delivered, one at one viewer.
type Result struct {
	Window    time.Duration // as it was
	Published int           // frames
	Delivered int           // frames that became complete in the window
	Since     int           // frames delivered from the command "go" to the end of the run
	Bytes     int64         // that the viewers received in the window
	Least     int64         // of Bytes, at the viewer that got least
	Most      int64
	CPU       time.Duration // of the server's process in the window
	Resident  int64         // bytes of the server's process at the end of the window
	Lost      int           // frames that a viewer did not get, although it got one before it
	Odd       int           // frames that a viewer got with a time or size that was not published, or once more
	Oddity    string        // the first of them
	Closed    int           // viewers whose connection the server ended
	LagP50    time.Duration // from the sending of a frame to the end of its receipt at a viewer
	LagP99    time.Duration
	LagMax    time.Duration
	KeyP50    time.Duration // from a viewer's first byte to the last of its first key frame
	KeyMax    time.Duration
	Late      time.Duration // how much after it was due one frame in a hundred was sent, or more
	Busy      float64       // the part of the window for which the load's processor worked
}

// PerGB is the server's processor time in seconds for 1,000,000,000 bytes
// delivered.
func (r Result) PerGB() float64 { return r.CPU.Seconds() / (float64(r.Bytes) / 1e9) }

// Spread is how many times the bytes of the viewer that got least the one that
// got most had.
func (r Result) Spread() float64 {
	if r.Least <= 0 {
		return math.Inf(1)
	}
	return float64(r.Most) / float64(r.Least)
}

// lags counts times in steps of a tenth of a millisecond, without allocating.
type lags struct {
	counts [lagSteps]uint32
	total  int
	max    time.Duration
}

const (
	lagStep  = 100 * time.Microsecond
	lagSteps = 100_000 // ten seconds
)

func (l *lags) add(d time.Duration) {
	l.counts[min(max(int(d/lagStep), 0), lagSteps-1)]++
	l.total++
	l.max = max(l.max, d)
}

// quantile is the least time that a part q of those counted do not exceed, to
// the next tenth of a millisecond; 0 when there are none.
func (l *lags) quantile(q float64) time.Duration {
	want := int(math.Ceil(q * float64(l.total)))
	seen := 0
	for i, n := range l.counts {
		if seen += int(n); seen >= want && seen > 0 {
			return time.Duration(i+1) * lagStep
		}
	}
	return 0
}
