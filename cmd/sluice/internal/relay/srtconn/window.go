package srtconn

import (
	"math"
	"net"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
)

// A window is how many bytes may be on their way to the peer. The library has no bound of its
// own: what a slow line cannot take would be lost, and sent again and again in the way of what
// is new. A Write that waits instead makes the sender late, which then leaves pictures out.
//
// The window is what the peer acknowledges within span when there is always more to send. It
// grows as long as that is more than the line's queue holds. It becomes half as large when many
// packets are sent again: a peer acknowledges too what it does not wait for any longer.
type window struct {
	size   int           // bytes
	span   time.Duration // at least
	sent   int           // bytes, since the beginning
	acked  int           // of them, at the latest look
	latest time.Time     // when the latest was written
	moved  time.Time     // when acked became more, or stuck was true

	rate  float64       // bytes/s; 0: not known
	grows float64       // by how much at a time, at the most
	rtt   time.Duration // without the line's queue, until what was written is acknowledged
	timed struct {
		end  int // of a write, as sent was behind it; 0: none is timed
		from time.Time
	}
	look time.Time // the latest

	// The measurement that goes on:
	at   time.Time
	from int  // acked at its beginning
	idle bool // there was room meanwhile

	// Packets since the latest judgement of losses:
	judged int    // acked then
	again  uint64 // that were sent again before
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
	// One packet in manyAgain is more than a line loses by chance, when it is more by so many
	// deviations too. So many packets are looked at together.
	manyAgain  = 5
	deviations = 2
	judgement  = 64
)

func newWindow(latency time.Duration) window {
	return window{size: firstWindow, span: min(latency/2, windowSpan), grows: fastGrowth, rtt: time.Hour}
}

// full reports whether n more bytes have no room, as far as is known.
func (w *window) full(n int) bool { return w.sent > w.acked && w.sent-w.acked+n > w.size }

// update takes what the library says at a time.
func (w *window) update(s *srt.Statistics, now time.Time) {
	unacked := min(int(s.Instantaneous.ByteSendBuf), w.sent)
	if acked := w.sent - unacked; acked > w.acked {
		w.acked, w.moved = acked, now
	}
	looking := now.Sub(w.look) <= 4*windowLook
	w.look = now
	w.idle = w.idle || !looking
	w.time(unacked, looking, now)
	took := now.Sub(w.at)
	if took < max(measured, 2*w.rtt) {
		return
	}
	rate := float64(w.acked-w.from) / took.Seconds()
	switch {
	case w.overflows(s.Accumulated.PktRetrans):
		w.rate, w.grows = max(w.rate, rate)/2, slowGrowth
		w.resize()
	case !w.idle:
		if w.rate > 0 {
			rate = max(min(rate, w.grows*w.rate), windowKeep*w.rate)
		}
		w.rate = rate
		w.resize()
	}
	w.at, w.from, w.idle = now, w.acked, false
}

// time measures the round trip. The library's figure is what the peer measures, which begins
// with 100 ms, and stays there for peers that do not take the library's answers (libsrt's newest).
func (w *window) time(unacked int, looking bool, now time.Time) {
	if w.timed.end == 0 || w.acked < w.timed.end {
		return
	}
	if took := now.Sub(w.timed.from); looking {
		if w.rtt = min(w.rtt, took); unacked < w.size/4 {
			w.rtt = took
		}
	}
	w.timed.end = 0
}

// wrote counts n bytes that are on their way.
func (w *window) wrote(n int, now time.Time) {
	w.sent += n
	w.latest = now
	if w.timed.end == 0 {
		w.timed.end, w.timed.from = w.sent, now
	}
}

// overflows reports whether more packets are sent again than are lost by chance: so many were in
// all.
func (w *window) overflows(again uint64) bool {
	packets, lost := float64(w.acked-w.judged)/payload, float64(again-w.again)
	usual := packets / manyAgain
	many := lost > usual+deviations*math.Sqrt(usual) && lost > 1
	if many || packets >= judgement {
		w.judged, w.again = w.acked, again
	}
	return many
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
		if now := time.Now(); now.Sub(w.latest) >= windowLook {
			var s srt.Statistics
			p.conn.Stats(&s)
			if w.update(&s, now); !w.full(n) || w.stuck(now) {
				return nil
			}
		}
		if !waiting.For(windowLook, p.closed) {
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
