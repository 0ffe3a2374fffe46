package srtconn

import (
	"net"
	"time"

	srt "github.com/datarhei/gosrt"
)

// A window is how many bytes may be on their way to the peer. The library has no bound of its
// own: what a slow line cannot take would be lost, and sent again and again in the way of what
// is new. A Write that waits instead makes the sender late, which then leaves pictures out.
//
// The window is what the peer acknowledges within span when there is always more to send. It
// grows as long as that is more than the line's queue holds. It becomes half as large when many
// packets are sent again: a peer acknowledges too what it does not wait for any longer.
type window struct {
	size  int           // bytes
	span  time.Duration // at least
	sent  int           // bytes, since the beginning
	acked int           // of them, at the latest look
	wrote time.Time     // when the latest was
	moved time.Time     // when acked became more, or stuck was true

	rate  float64       // bytes/s; 0: not known
	grows float64       // by how much at a time, at the most
	rtt   time.Duration // without the line's queue
	look  time.Time     // the latest

	// The measurement that goes on:
	at    time.Time
	from  int    // acked at its beginning
	again uint64 // packets that were sent again before
	idle  bool   // there was room meanwhile
}

const (
	firstWindow = 8 * payload
	minWindow   = 4 * payload
	// windowSpan is the longest span of a line with a short way, and windowRoom what is added to
	// two round trips, after which what was lost is there: the library sends each 10 ms, and
	// acknowledges each 10 ms.
	windowSpan = 250 * time.Millisecond
	windowRoom = 50 * time.Millisecond
	// windowLook is how often a full window is looked at, and measured is for how long the
	// rate is measured at least.
	windowLook = 5 * time.Millisecond
	measured   = 100 * time.Millisecond
	// windowKeep of a rate is left when less was measured: packets that were lost hold
	// acknowledgements up.
	windowKeep = 0.9
	// The rate grows by these factors, before the first loss and then.
	fastGrowth, slowGrowth = 2, 1.1
	// One packet in manyAgain is more than a line loses that is not full.
	manyAgain = 5
)

func newWindow(latency time.Duration) window {
	return window{size: firstWindow, span: min(latency/2, windowSpan), grows: fastGrowth, rtt: time.Hour}
}

// full reports whether n more bytes have no room, as far as is known.
func (w *window) full(n int) bool { return w.sent > w.acked && w.sent-w.acked+n > w.size }

// update takes what the library says at a time.
func (w *window) update(s *srt.Statistics, now time.Time) {
	rtt := time.Duration(s.Instantaneous.MsRTT * float64(time.Millisecond))
	unacked := min(int(s.Instantaneous.ByteSendBuf), w.sent)
	if acked := w.sent - unacked; acked > w.acked {
		w.acked, w.moved = acked, now
	}
	if w.rtt = min(w.rtt, rtt); unacked < w.size/4 {
		w.rtt = rtt
	}
	w.idle = w.idle || now.Sub(w.look) > 4*windowLook
	w.look = now
	took := now.Sub(w.at)
	if took < max(measured, 2*w.rtt) {
		return
	}
	rate, again := float64(w.acked-w.from)/took.Seconds(), int(s.Accumulated.PktRetrans-w.again)*payload
	switch {
	case manyAgain*again > w.acked-w.from && again > payload:
		w.rate, w.grows = max(w.rate, rate)/2, slowGrowth
		w.resize()
	case !w.idle:
		if w.rate > 0 {
			rate = max(min(rate, w.grows*w.rate), windowKeep*w.rate)
		}
		w.rate = rate
		w.resize()
	}
	w.at, w.from, w.again, w.idle = now, w.acked, s.Accumulated.PktRetrans, false
}

// resize makes the window that of the rate.
func (w *window) resize() {
	w.size = max(int(w.rate*max(w.span, 2*w.rtt+windowRoom).Seconds()), minWindow)
}

// stuck reports, once in a while, that nothing more is acknowledged. The peer asks for the last
// packets again only when it has others behind them.
func (w *window) stuck(now time.Time) bool {
	if now.Sub(w.moved) < w.rtt+windowRoom {
		return false
	}
	w.moved = now
	return true
}

// wait waits until there is room for n more bytes, or p is stopped. The library drops what is
// not acknowledged in time, a second at least, so that it ends.
func (p *Paced) wait(n int) error {
	for w := &p.window; ; {
		// What has just been written is not in the library's figures yet.
		if now := time.Now(); now.Sub(w.wrote) >= windowLook {
			var s srt.Statistics
			p.conn.Stats(&s)
			if w.update(&s, now); !w.full(n) || w.stuck(now) {
				return nil
			}
		}
		timer := time.NewTimer(windowLook)
		select {
		case <-timer.C:
		case <-p.closed:
			timer.Stop()
			return net.ErrClosed
		}
	}
}

// Unacked returns how many of the bytes written the peer has not acknowledged. Any goroutine
// may call it.
func (p *Paced) Unacked() int {
	var s srt.Statistics
	p.conn.Stats(&s)
	return int(s.Instantaneous.ByteSendBuf)
}
