package udpline

import (
	"math"
	"time"
)

// A Report is what a receiver reports on what it is sent (RFC 3550, section 6.4.1).
type Report struct {
	Highest uint32 // number that it has got, with the count of wraps
	Lost    uint8  // of 256 packets, since its report before
	Total   int32  // packets that it has lost so far, less those that came twice
	Jitter  uint32 // in ticks of the timestamps
}

// losses are what a viewer's reports on its pictures say of the line, and what follows for the
// rate. RTP over UDP has no window: what a line cannot take is lost, and a picture that lacks a
// part is lost with all that refer to it. Whether a line is full, or loses by chance, is found
// out by sending a little less than what came through:
//
//	          some are lost for a while: as much as came through
//	no rate ----------------------------------------------------> a trial: the next reports decide
//	        <------- as much is lost: this is by chance ---------    |
//	                                                                 | less is lost
//	        <------- the rate is more than what is wanted ------- a rate: more after a rest,
//	                                                              less when some are lost
type losses struct {
	bears float64 // the share that may be lost

	rate   float64 // bytes/s that may be sent; 0: any
	wanted float64 // what was sent without a rate

	heard bool
	last  uint32 // highest number of the latest report
	span  span   // since the latest judgement
	full  span   // since packets began to be lost, or the rate became less

	cut     float64   // the share that made the rate less, until reports say what came of it; 0: they have
	before  float64   // the rate before that
	again   bool      // it is the second trial
	changed time.Time // when that was

	chance  float64       // the share that is lost whatever is sent
	expires time.Time     // when that has to be found out again
	trust   time.Duration // how long it then holds

	raised  bool          // the rate became more, at the latest change
	carried float64       // what then came through
	rest    time.Duration // how long the rate then stays
	hold    time.Time     // until then
}

// A span is a time that reports are of.
type span struct {
	from            time.Time
	at              int64 // bytes that had been sent at its beginning
	packets, missed float64

	bad    int       // judgements of too many losses
	latest time.Time // of these
}

const (
	// Packets have to be lost in badSpans judgements, or for someTime; where they are not muchLost
	// for that in any case. The group of pictures that a viewer begins with may be too much at once.
	badSpans = 3
	someTime = 5 * time.Second
	muchLost = 0.10
	// quietTime without too many losses ends a bad time.
	quietTime = 4 * time.Second
	// judgeEvery and judgePackets are the least that a judgement is of.
	judgeEvery   = 900 * time.Millisecond
	judgePackets = 10
	// trialPackets would be lost in a trial if it were of no use.
	trialPackets = 12
	// settles is how long after a change what comes was sent before, and waits in queues.
	settles = 500 * time.Millisecond
	// ofCarried is the part that is sent of what the line carries, so that its queue empties.
	ofCarried = 0.97
	// The rate grows by these in a second: up to where packets were lost, and beyond.
	slowGrowth, fastGrowth = 0.02, 0.08
	beyond                 = 1.2
	// enough is the part of what is wanted at which no rate is needed.
	enough = 1.25
	// The rate stays for firstRest, and for twice as long each time that more was too much.
	firstRest, lastRest = 4 * time.Second, 32 * time.Second
	// minRate carries sound, and a picture now and then.
	minRate = 16 << 10
	// What is lost by chance is found out again after twice firstTrust, and then twice as long each
	// time. Where there is a rate it is the share of about chancePackets.
	firstTrust, lastTrust = 30 * time.Second, 16 * time.Minute
	chancePackets         = 1500
)

// add adds the next span.
func (s *span) add(next *span) {
	if s.packets == 0 {
		*s = *next
		return
	}
	s.packets += next.packets
	s.missed += next.missed
}

// rate is what was sent in bytes/s since the beginning.
func (s *span) rate(sent int64, now time.Time) float64 {
	return float64(sent-s.at) / now.Sub(s.from).Seconds()
}

// take takes a report that came at a time, when so many bytes had been sent, without those of
// packets that were sent again: viewers may ask for them many times.
func (l *losses) take(r Report, sent int64, now time.Time) {
	n := int32(r.Highest - l.last)
	if !l.heard || n < 0 || n > 1<<16 { // the first, or nonsense
		*l = losses{bears: l.bears, rate: l.rate, wanted: l.wanted, rest: firstRest, trust: firstTrust, heard: true, last: r.Highest, changed: now, span: span{from: now, at: sent}}
		return
	}
	l.last = r.Highest
	l.span.packets += float64(n)
	l.span.missed += float64(n) * float64(r.Lost) / 256
	took := now.Sub(l.span.from)
	if took < judgeEvery || l.span.packets < judgePackets {
		return
	}
	if l.span.from.Sub(l.changed) >= settles || took > 4*settles {
		switch {
		case l.rate == 0:
			l.look(sent, now)
		case l.cut > 0:
			l.try(sent, now)
		default:
			l.adapt(now)
		}
	}
	l.span = span{from: now, at: sent}
}

// share is the part of the packets that is lost in s, beyond what is lost by chance, and whether
// that is too much for chance.
func (l *losses) share(s *span) (share float64, some bool) {
	share = max(s.missed/s.packets-l.chance, 0)
	return share, share*s.packets > l.bears*s.packets+2*math.Sqrt((l.chance+l.bears/2)*s.packets)
}

// watch adds the latest span to the bad time, and reports whether that goes on, and for how long.
func (l *losses) watch(now time.Time) (share float64, over time.Duration, bad bool) {
	_, still := l.share(&l.span)
	l.full.add(&l.span)
	if still {
		l.full.bad++
		l.full.latest = now
	}
	share, some := l.share(&l.full)
	if !some || now.Sub(l.full.latest) > quietTime {
		l.full = span{}
		return 0, 0, false
	}
	over = now.Sub(l.full.from)
	return share, over, still && (l.full.bad >= badSpans || over >= someTime)
}

// look finds out whether the line is full, while there is no rate.
func (l *losses) look(sent int64, now time.Time) {
	if now.After(l.expires) {
		l.chance = 0
	}
	share, over, bad := l.watch(now)
	if bad && (share > muchLost || over >= someTime) {
		l.wanted = l.full.rate(sent, now)
		l.lessen(l.wanted, share, now)
	}
}

// try finds out what came of a rate that was made less.
func (l *losses) try(sent int64, now time.Time) {
	l.full.add(&l.span)
	if l.full.packets*l.cut < trialPackets {
		return
	}
	share, _ := l.share(&l.full)
	lost, expected := share*l.full.packets, l.cut*l.full.packets
	switch {
	case lost < expected/3: // the line was full
		l.cut, l.trust, l.again = 0, firstTrust, false
	case lost > expected*3/2+3*math.Sqrt(expected):
		l.lessen(l.full.rate(sent, now), share, now)
	case l.cut > muchLost && !l.again: // the line may have become narrow while it was looked at
		before := l.before
		l.lessen(l.full.rate(sent, now), share, now)
		l.again, l.before = true, before
	default:
		l.trust = min(2*l.trust, lastTrust)
		l.chance, l.expires = l.chance+share, now.Add(l.trust)
		l.cut, l.rate, l.changed, l.again = 0, l.before, now, false
	}
	l.full = span{}
}

// adapt makes the rate less or more by what is lost.
func (l *losses) adapt(now time.Time) {
	share, some := l.share(&l.span)
	if some && l.raised { // a part of the span was before the queue was full
		l.raised, l.rest = false, min(2*l.rest, lastRest)
		l.set(max(min(l.rate, l.wanted)*(1-2*share), l.carried), now)
		return
	}
	if share, _, bad := l.watch(now); bad {
		l.lessen(min(l.rate, l.wanted), share, now) // there may not have been more to send
		return
	}
	if some {
		return
	}
	l.chance += (l.span.missed/l.span.packets - l.chance) * min(l.span.packets/chancePackets, 1)
	if now.Before(l.hold) {
		return
	}
	growth := slowGrowth
	if l.rest == firstRest || l.rate > l.carried*beyond {
		growth, l.rest = fastGrowth, firstRest
	}
	l.raised = true
	if l.rate *= 1 + growth*min(now.Sub(l.span.from), 2*time.Second).Seconds(); l.rate > l.wanted*enough {
		l.rate, l.raised = 0, false
	}
}

// lessen makes the rate less than what came through of what was sent in bytes/s.
func (l *losses) lessen(sent, share float64, now time.Time) {
	l.cut, l.before, l.raised = share, l.rate, false
	l.set(sent*(1-share), now)
}

// set makes the rate one that a line carries.
func (l *losses) set(carried float64, now time.Time) {
	l.carried, l.changed, l.hold, l.full = carried, now, now.Add(l.rest), span{}
	l.rate = max(carried*ofCarried, minRate)
}
