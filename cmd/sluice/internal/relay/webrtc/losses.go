package webrtc

import (
	"time"

	"github.com/pion/rtcp"
)

// losses are what a viewer's reports on its pictures say of the line, and what follows for the
// rate. RTP over UDP has no window: what a line cannot take is lost, and a picture that lacks a
// part is lost with all that refer to it. Where reports say for a while that much is lost, that
// is not chance but a line that is full, and what came through is what it carries.
//
//	          much is lost for a while: to what came through
//	no rate ---------------------------------------------> a rate: less when much is lost,
//	        <---------------------------------------------         more when little is
//	          the rate is what was sent without one; or less is not lost at a lower one
type losses struct {
	rate   float64 // bytes/s that may be sent; 0: any
	wanted float64 // what was sent without a rate, and not again

	heard           bool
	last            uint32  // highest number of the latest report
	packets, missed float64 // since the latest judgement
	at              time.Time
	bytes           int64 // sent until then

	since     time.Time // when much began to be lost
	before    int64     // bytes sent until then
	many      bool      // much was lost, at the latest judgement
	raised    bool      // the rate became more, at the latest change
	hold      time.Time // the rate stays until then
	cut       float64   // the share that was lost when the rate became less
	futile    int       // how often in a row it became less, and as much was lost
	overlooks time.Time // until then losses mean nothing
}

const (
	// muchLost and littleLost are shares of the packets. A bad line loses a few in a hundred
	// without being full, which sending again mends.
	muchLost, littleLost = 0.10, 0.05
	// fullAfter is for how long much has to be lost: the group of pictures that a viewer
	// begins with may be too much at once.
	fullAfter = 1800 * time.Millisecond
	// judgeEvery and judgePackets are the least that a judgement is of.
	judgeEvery   = 700 * time.Millisecond
	judgePackets = 10
	// ofCarried is the part that is sent of what the line carries, so that its queue empties.
	ofCarried = 0.9
	// growth is by how much the rate grows in a second.
	growth = 1.06
	// settles is how long after a change reports are of what was before it, and restTime how
	// long after one for the worse none for the better comes while some is lost.
	settles, restTime = 1300 * time.Millisecond, 8 * time.Second
	// minRate carries sound, and a picture now and then.
	minRate = 16 << 10
	// Losses that stay the same futileCuts times are not for the rate: see overlookTime.
	futileCuts   = 3
	sameLost     = 0.75
	overlookTime = 30 * time.Second
)

// take takes a report that came at a time, when so many bytes had been sent, without those of
// packets that were sent again: viewers may ask for them many times.
func (l *losses) take(r *rtcp.ReceptionReport, sent int64, now time.Time) {
	n := int32(r.LastSequenceNumber - l.last)
	if !l.heard || n < 0 || n > 1<<16 { // the first, or nonsense
		*l = losses{rate: l.rate, wanted: l.wanted, heard: true, last: r.LastSequenceNumber, at: now, bytes: sent}
		return
	}
	l.last = r.LastSequenceNumber
	l.packets += float64(n)
	l.missed += float64(n) * float64(r.FractionLost) / 256
	took := now.Sub(l.at)
	if took < judgeEvery || l.packets < judgePackets {
		return
	}
	share := l.missed / l.packets
	if l.rate == 0 {
		l.look(share, sent, now)
	} else {
		l.adapt(share, min(took, 2*time.Second), now)
	}
	l.packets, l.missed, l.at, l.bytes = 0, 0, now, sent
}

// look finds out whether the line is full, while there is no rate.
func (l *losses) look(share float64, sent int64, now time.Time) {
	if share <= muchLost || now.Before(l.overlooks) {
		l.many = false
		return
	}
	if !l.many {
		l.many, l.since, l.before = true, l.at, l.bytes
	}
	over := now.Sub(l.since)
	if over < fullAfter {
		return
	}
	l.many, l.futile = false, 0
	l.wanted = float64(sent-l.before) / over.Seconds()
	l.rate = l.wanted
	l.lessen(share, now)
}

// adapt makes the rate less or more by what was lost in a time.
func (l *losses) adapt(share float64, took time.Duration, now time.Time) {
	if now.Before(l.hold) {
		return
	}
	switch {
	case share > muchLost:
		if share < sameLost*l.cut {
			l.futile = 0
		} else if l.futile++; l.futile == futileCuts {
			l.rate, l.overlooks = 0, now.Add(overlookTime)
			return
		}
		l.lessen(share, now)
	case share > littleLost && l.raised:
		l.lessen(share, now)
		l.hold = now.Add(restTime)
	default:
		l.raised, l.futile = true, 0
		if l.rate *= 1 + (growth-1)*took.Seconds(); l.rate >= l.wanted {
			l.rate = 0
		}
	}
}

// lessen makes the rate less than what came through of it.
func (l *losses) lessen(share float64, now time.Time) {
	l.rate = max(l.rate*(1-share)*ofCarried, minRate)
	l.cut, l.raised, l.hold = share, false, now.Add(settles)
}
