package udpline

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A fakeViewing is a viewer of a stream on a line with a queue, in a time of its own. What is
// late is left out as a live.Writer does it.
type fakeViewing struct {
	carries float64 // of the stream's rate
	every   time.Duration
	random  func() bool

	line     *Line
	now      time.Time
	begun    time.Time
	free     time.Time // of the queue
	number   uint32
	onTheWay []fakePacket
	highest  uint32
	received uint32
	before   [2]uint32 // expected and received at the latest report
	report   time.Time

	late                          time.Duration
	lost                          int
	whole, made, decoded, leftOut int
}

type fakePacket struct {
	number uint32
	at     time.Time
}

const (
	viewingRate    = 125_000.0 // bytes/s
	viewingFPS     = 25
	viewingGroup   = 25   // pictures
	viewingPicture = 3900 // bytes
	viewingKey     = 8    // times as many
	viewingPacket  = 1200
	viewingQueue   = 300 * time.Millisecond
	viewingMostLag = 2 * time.Second
)

// listen gives the line the reports that are due.
func (f *fakeViewing) listen() {
	for !f.report.After(f.now) {
		for len(f.onTheWay) > 0 && !f.onTheWay[0].at.After(f.report) {
			f.highest = f.onTheWay[0].number
			f.received++
			f.onTheWay = f.onTheWay[1:]
		}
		expected := f.highest
		due, got := expected-f.before[0], f.received-f.before[1]
		f.before = [2]uint32{expected, f.received}
		var r Report
		if r.Highest = f.highest; due > got {
			r.Lost = uint8(min((due-got)<<8/due, 255))
		}
		if f.highest > 0 {
			f.line.Hear(r, f.report)
		}
		f.report = f.report.Add(f.every)
	}
}

// send sends a picture of n bytes, and reports whether all of it comes.
func (f *fakeViewing) send(n int) bool {
	whole := true
	for ; n > 0; n -= viewingPacket {
		f.listen()
		size := min(n, viewingPacket)
		f.number++
		if f.free.Before(f.now) {
			f.free = f.now
		}
		if f.free.Sub(f.now) > viewingQueue || f.random != nil && f.random() {
			whole = false
			f.lost++
		} else {
			f.free = f.free.Add(time.Duration(float64(size+headers) / (f.carries * viewingRate) * float64(time.Second)))
			f.onTheWay = append(f.onTheWay, fakePacket{f.number, f.free})
		}
		f.now = f.now.Add(f.line.send(size, f.now))
	}
	return whole
}

// run lets the viewer watch for some time.
func (f *fakeViewing) run(length time.Duration) {
	if f.begun.IsZero() {
		f.begun = time.Unix(1e9, 0)
		f.now, f.report = f.begun, f.begun.Add(f.every/2)
	}
	from, out, chain := f.now, false, false
	for i := 0; ; i++ {
		came := from.Add(time.Duration(i) * time.Second / viewingFPS)
		if came.Sub(from) >= length {
			return
		}
		if f.now.Before(came) {
			f.now = came
		}
		late, key, size := f.now.Sub(came), i%viewingGroup == 0, viewingPicture
		if key {
			size, out = viewingPicture*viewingKey, late > viewingMostLag/4
		} else if late > viewingMostLag/3 {
			out = true
		}
		f.made++
		if out {
			chain = false
			f.leftOut++
			continue
		}
		f.late = max(f.late, late)
		whole := f.send(size)
		if chain = whole && (key || chain); chain {
			f.decoded++
		}
		if whole {
			f.whole++
		}
	}
}

// newViewing is a viewer on a line that carries a part of the stream, and loses a share of the
// packets by chance.
func newViewing(t *testing.T, carries, random float64, every time.Duration) *fakeViewing {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	return &fakeViewing{line: New(Options{Bears: 0.01}), carries: carries, every: every, random: func() bool { return r.Float64() < random }}
}

// reportTimes are those between reports of players.
var reportTimes = []time.Duration{50 * time.Millisecond, time.Second, 5 * time.Second}

const viewingTime = 240 * time.Second

// A viewer on a line that carries a part of the stream soon gets nearly as many pictures that can
// be decoded as one that is sent exactly what it carries.
func TestFullLine(t *testing.T) {
	for _, carries := range []float64{0.3, 0.5, 0.8, 0.9, 1} {
		best := newViewing(t, carries, 0, time.Hour)
		best.line.losses.rate = carries * ofCarried * viewingRate
		best.run(viewingTime)
		for _, every := range reportTimes {
			f := newViewing(t, carries, 0, every)
			f.run(viewingTime)
			t.Logf("%v of the stream, reports each %v: of %d pictures %d are whole and %d can be decoded, of %d; %d of %d packets lost; at most %v late",
				carries, every, f.made, f.whole, f.decoded, best.decoded, f.lost, f.number, f.late)
			if f.decoded < best.decoded*3/4 || f.line.losses.rate == 0 {
				t.Errorf("%v of the stream, reports each %v: %d of %d, a rate of %.0f", carries, every, f.decoded, best.decoded, f.line.losses.rate)
			}
		}
	}
}

// What a line loses by chance is found out to be that, and all goes on to be sent.
func TestLossesByChance(t *testing.T) {
	for _, random := range []float64{0, 0.005, 0.01, 0.04, 0.09, 0.2} {
		for _, every := range reportTimes {
			f := newViewing(t, 1.5, random, every)
			f.run(viewingTime)
			t.Logf("%v lost, reports each %v: of %d pictures %d are left out", random, every, f.made, f.leftOut)
			if f.leftOut > int((0.05+random)*float64(f.made)) || random == 0 && f.leftOut > 0 {
				t.Errorf("%v lost, reports each %v: of %d pictures %d are left out", random, every, f.made, f.leftOut)
			}
		}
	}
}

// A moment of losses is not for the rate.
func TestMomentOfLosses(t *testing.T) {
	for _, every := range []time.Duration{50 * time.Millisecond, time.Second} {
		f := newViewing(t, 1.5, 0, every)
		r := f.random
		f.random = func() bool { return r() || f.now.UnixMilli()%10_000 < 800 && f.number%5 < 3 }
		f.run(viewingTime)
		if f.leftOut > 0 || f.lost == 0 {
			t.Errorf("reports each %v: %d pictures are left out, of %d packets %d are lost", every, f.leftOut, f.number, f.lost)
		}
	}
}

// All is sent again some time after a line has become wide, and soon what it carries when it has
// become narrow.
func TestLineThatChanges(t *testing.T) {
	for _, every := range reportTimes {
		f := newViewing(t, 1.5, 0, every)
		for range 5 {
			f.carries = 1.5
			f.run(100 * time.Second)
			f.decoded, f.made = 0, 0
			if f.run(20 * time.Second); f.decoded < f.made*9/10 {
				t.Errorf("reports each %v: of %d pictures on a wide line %d can be decoded", every, f.made, f.decoded)
			}
			f.carries = 0.5
			f.run(30 * time.Second)
			f.lost = 0
			number := f.number
			if f.run(20 * time.Second); f.lost > int(f.number-number)/5 {
				t.Errorf("reports each %v: of %d packets on a narrow line %d are lost", every, f.number-number, f.lost)
			}
		}
	}
}

// Reports that cannot be right are no judgement, and whatever they are, some is sent.
func TestOddReports(t *testing.T) {
	l := New(Options{Bears: 0.01})
	now := time.Unix(1e9, 0)
	for _, number := range []uint32{0, 1 << 31, 1<<32 - 1, 5, 5, 5, 5, 100_000} {
		for range 5 {
			now = now.Add(time.Second)
			l.send(1200, now)
			l.Hear(Report{Highest: number, Lost: 255}, now)
		}
	}
	if l.losses.rate != 0 {
		t.Errorf("a rate of %.0f", l.losses.rate)
	}
	r := rand.New(rand.NewPCG(1, 1))
	number := uint32(0)
	for range 200_000 {
		now = now.Add(time.Duration(r.IntN(int(time.Second))))
		number += uint32(r.IntN(300))
		if wait := l.send(1200, now); wait > time.Second {
			t.Fatalf("a packet waits %v", wait)
		}
		l.Hear(Report{Highest: number, Lost: uint8(r.IntN(256))}, now)
		if rate := l.losses.rate; rate != 0 && !(rate >= minRate && rate < 1e9) {
			t.Fatalf("a rate of %v", rate)
		}
	}
}

// A line without a rate makes nothing wait; one with a rate does, and has room for a part of
// what is asked for again.
func TestLineWaits(t *testing.T) {
	l := New(Options{})
	now := time.Unix(1e9, 0)
	for range 1000 {
		if l.send(1200, now) != 0 || !l.Repair(1200, now) {
			t.Fatal("it waits")
		}
	}
	l.losses.rate = 100_000
	const packet = 1000 - headers
	repaired := 0
	for range 100 { // a second's
		if wait := l.send(packet, now); wait > lineBurst {
			now = now.Add(wait)
		}
		for range 10 {
			if l.Repair(packet, now) {
				repaired++
			}
		}
	}
	if took := now.Sub(time.Unix(1e9, 0)); took < time.Second || took > 2*time.Second || repaired < 10 || repaired > 40 {
		t.Errorf("100 packets took %v, and %d were sent again", took, repaired)
	}
}
