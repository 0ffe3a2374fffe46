package webrtc

import (
	"testing"
	"time"

	"github.com/pion/rtcp"
)

// A fakeLine makes the reports of a viewer, one a second, on a stream of packets of 1,000 bytes.
type fakeLine struct {
	losses  losses
	now     time.Time
	number  uint32
	sent    int64
	carries float64 // bytes/s
	random  float64 // share that is lost in any case
}

const fakeStream = 375_000 // bytes/s

// second lets a second pass, and returns how much was sent, and came.
func (f *fakeLine) second() (sent, came float64) {
	sent = fakeStream
	if f.losses.rate > 0 {
		sent = min(sent, f.losses.rate)
	}
	came = min(sent*(1-f.random), f.carries)
	f.now = f.now.Add(time.Second)
	f.sent += int64(sent)
	f.number += uint32(sent / 1000)
	f.losses.take(&rtcp.ReceptionReport{LastSequenceNumber: f.number, FractionLost: uint8((1 - came/sent) * 256)}, f.sent, f.now)
	return sent, came
}

func newFakeLine(carries, random float64) *fakeLine {
	return &fakeLine{now: time.Unix(1e9, 0), number: 60_000, carries: carries * fakeStream, random: random}
}

// What a line loses by chance is not for a rate, nor is a moment of more.
func TestSomeLossesLeaveTheRateAlone(t *testing.T) {
	for _, random := range []float64{0, 0.02, 0.05, 0.09} {
		f := newFakeLine(2, random)
		for second := range 60 {
			f.random = random
			if second%10 == 0 {
				f.random = 0.6
			}
			if f.second(); f.losses.rate != 0 {
				t.Fatalf("%v lost: a rate of %.0f after %d s", random, f.losses.rate, second)
			}
		}
	}
}

// A line that carries a part of the stream is soon sent what it carries, and all again when it
// carries all.
func TestFullLineHasARate(t *testing.T) {
	for _, share := range []float64{0.2, 0.5, 0.8} {
		for _, random := range []float64{0, 0.03} {
			f := newFakeLine(2, random)
			for range 10 {
				f.second()
			}
			f.carries = share * fakeStream
			for range 3 {
				f.second()
			}
			if f.losses.rate == 0 {
				t.Fatalf("%v of the stream: no rate after 3 s", share)
			}
			var sent, came, at float64
			for range 120 {
				s, c := f.second()
				sent, came, at = sent+s, came+c, at+f.carries
			}
			t.Logf("%v of the stream, %v lost by chance: of what fits %.3f are sent, %.3f come", share, random, sent/at, came/at)
			if came < 0.7*at || sent > 1.05*at {
				t.Errorf("%v of the stream, %v lost by chance: of what fits %.3f are sent, %.3f come", share, random, sent/at, came/at)
			}
			f.carries = 2 * fakeStream
			seconds := 0
			for ; f.losses.rate != 0 && seconds < 60; seconds++ {
				f.second()
			}
			t.Logf("all is sent after %d s", seconds)
			if seconds > 45 {
				t.Errorf("%v of the stream, %v lost by chance: still a rate of %.0f when the line is wide", share, random, f.losses.rate)
			}
		}
	}
}

// Where a lower rate does not help, there soon is none.
func TestLossesThatARateDoesNotMend(t *testing.T) {
	f := newFakeLine(2, 0.2)
	free := 0
	for range 300 {
		f.second()
		if f.losses.rate == 0 {
			free++
		}
	}
	if t.Logf("all is sent in %d of 300 s", free); free < 200 {
		t.Errorf("all is sent in %d of 300 s only", free)
	}
}

// Reports that cannot be right are no judgement.
func TestOddReports(t *testing.T) {
	f := newFakeLine(2, 0)
	f.second()
	for _, number := range []uint32{0, 1 << 31, 1<<32 - 1, 5, 5, 5, 5, 100_000} {
		for range 5 {
			f.now = f.now.Add(time.Second)
			f.losses.take(&rtcp.ReceptionReport{LastSequenceNumber: number, FractionLost: 255}, f.sent, f.now)
		}
	}
	if f.losses.rate != 0 {
		t.Errorf("a rate of %.0f", f.losses.rate)
	}
}

// A line without a rate makes nothing wait; one with a rate does, and has room for a part of
// what is asked for again.
func TestLineWaits(t *testing.T) {
	var l line
	now := time.Unix(1e9, 0)
	for range 1000 {
		if l.send(1200, now) != 0 || !l.repair(1200, now) {
			t.Fatal("it waits")
		}
	}
	l.losses.rate = 100_000
	const packet = 1000 - sendCost
	repaired := 0
	for range 100 { // a second's
		if wait := l.send(packet, now); wait > lineBurst {
			now = now.Add(wait)
		}
		for range 10 {
			if l.repair(packet, now) {
				repaired++
			}
		}
	}
	if took := now.Sub(time.Unix(1e9, 0)); took < time.Second || took > 2*time.Second || repaired < 10 || repaired > 40 {
		t.Errorf("100 packets took %v, and %d were sent again", took, repaired)
	}
}
