package streamdoctor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// A scene is a publisher, a line, a server and viewers, of which some may be faulty.
type scene struct {
	fps, kbps       float64
	jitter          time.Duration // of whole frames on the line
	tls             bool
	speed           float64       // of the encoder; 1 is real time
	stops           time.Duration // when the encoder stops; 0: never
	cut             time.Duration // when the line is cut; 0: never
	line            float64       // kbit/s of the publisher's line; 0: no limit
	stalls          time.Duration // how long the line stands still, once
	lost            int64         // packets in all
	starved         float64       // share of looks that are late
	viewers, behind int
	full            error
}

// see plays a scene for as long as Enough, after it has gone on for a while.
func (sc scene) see(r *rand.Rand) Seen {
	type frame struct {
		media  float64 // ms
		whole  time.Duration
		begins time.Duration // when its first byte comes
		bytes  float64
	}
	var frames []frame
	const all = 8 * time.Second
	from := all - Enough
	var free time.Duration // when the line is free
	stall := from + Enough/2
	for n := 0; ; n++ {
		made := time.Duration(float64(n) / sc.fps / sc.speed * float64(time.Second))
		if made > all || sc.stops > 0 && made > from+sc.stops {
			break
		}
		bytes := sc.kbps * 1000 / 8 / sc.fps * (0.6 + 0.8*r.Float64())
		if n%int(max(sc.fps*2, 2)) == 0 {
			bytes *= 6
		}
		f := frame{media: float64(n) / sc.fps * 1000, bytes: bytes, begins: made}
		if sc.jitter > 0 {
			f.begins += time.Duration(r.Int64N(int64(sc.jitter)))
		}
		f.begins = max(f.begins, free)
		took := time.Duration(0)
		if sc.line > 0 {
			took = time.Duration(bytes * 8 / sc.line * float64(time.Millisecond))
		}
		if sc.stalls > 0 && f.begins < stall+sc.stalls && f.begins+took > stall {
			f.begins = stall + sc.stalls
		}
		f.whole = f.begins + took
		free = f.whole
		if sc.cut > 0 && f.whole > from+sc.cut {
			break
		}
		frames = append(frames, f)
	}
	s := Seen{Processors: 2, MemoryShort: sc.full}
	began := time.Unix(1000, 0)
	for at := from; at <= all; at += every {
		at := at
		l := Look{Publisher: "p1", Viewers: map[string]Viewer{}}
		if r.Float64() < sc.starved {
			l.Late = 2 * tooLate
		}
		l.At = began.Add(at)
		l.CPU = time.Duration(float64(at) * 0.3)
		l.Line = Line{Known: true, Parts: true, Reorders: int64(float64(sc.lost) * float64(at-from) / float64(Enough)), Unacked: sc.cut > 0}
		received, whole := 0.0, 0.0
		for _, f := range frames {
			switch {
			case f.whole <= at:
				received += f.bytes
				whole = received
				l.Frames++
				l.Media = uint32(f.media)
			case f.begins < at && sc.line > 0:
				received += f.bytes * float64(at-f.begins) / float64(f.whole-f.begins)
			}
		}
		if sc.tls {
			received += 29 * float64(l.Frames)
		}
		l.Line.Received, l.Line.Partial = int64(received), int64(received-whole)
		for v := range sc.viewers {
			lag := time.Duration(r.Int64N(int64(300 * time.Millisecond)))
			if v < sc.behind {
				lag = 3*time.Second + at - from
			}
			l.Viewers[fmt.Sprint("v", v)] = Viewer{Lag: lag, Merge: 95 * time.Millisecond}
		}
		s.Looks = append(s.Looks, l)
	}
	return s
}

// usual is a healthy scene.
func usual(r *rand.Rand) scene {
	return scene{
		fps: []float64{5, 15, 25, 30, 60}[r.IntN(5)], kbps: []float64{300, 1500, 6000}[r.IntN(3)],
		jitter: time.Duration(r.Int64N(int64(150 * time.Millisecond))), tls: r.IntN(2) == 0, speed: 0.99 + 0.02*r.Float64(),
		starved: 0.05 * r.Float64(), viewers: r.IntN(10), lost: int64(r.IntN(2)),
	}
}

// Faults of all kinds are named right, at least 95 of 100, and healthy streams are
// never accused.
func TestInjectedFaults(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for n := range 300 {
		if found, m := Judge(usual(r).see(r)); len(found) > 0 {
			t.Errorf("healthy stream %d is accused: %+v %+v", n, found, m)
		}
	}
	faults := []struct {
		want   string
		inject func(*scene)
	}{
		{EncoderStopped, func(s *scene) {
			s.stops = Enough - silence - time.Duration(r.IntN(1500))*time.Millisecond - 200*time.Millisecond
		}},
		{EncoderSlow, func(s *scene) { s.speed = 0.4 + 0.45*r.Float64() }},
		{PublisherLine, func(s *scene) { s.line = s.kbps * (0.4 + 0.3*r.Float64()) }},
		{PublisherLine, func(s *scene) { s.lost, s.speed = int64(reorders+r.IntN(100)), 0.7 }},
		{PublisherLine, func(s *scene) { s.cut = time.Duration(200+r.IntN(2000)) * time.Millisecond }},
		{PublisherLine, func(s *scene) { s.fps, s.stalls = 25, time.Duration(900+r.IntN(400))*time.Millisecond }},
		{ServerProcessor, func(s *scene) { s.starved = 0.4 + 0.5*r.Float64() }},
		{ServerMemory, func(s *scene) { s.full = errors.New("it is") }},
		{ViewerLine, func(s *scene) { s.viewers, s.behind = 5+r.IntN(5), 1 }},
		{ServerLine, func(s *scene) { s.viewers, s.behind = 6, 6 }},
	}
	const each = 50
	wrong := map[string]int{}
	total := 0
	for _, f := range faults {
		for range each {
			sc := usual(r)
			f.inject(&sc)
			found, m := Judge(sc.see(r))
			if len(found) != 1 || found[0].Code != f.want {
				if wrong[f.want]++; wrong[f.want] < 3 {
					t.Logf("%s is called %+v: %+v of %+v", f.want, found, m, sc)
				}
				total++
			}
		}
	}
	t.Logf("%d of %d faults are named right; no healthy stream of 300 may be accused", each*len(faults)-total, each*len(faults))
	if total*20 > each*len(faults) {
		t.Errorf("%d of %d faults are named wrong: %v", total, each*len(faults), wrong)
	}
}

func TestTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sc := usual(r)
	sc.viewers, sc.behind = 4, 2
	found, _ := Judge(sc.see(r))
	if len(found) != 2 || found[0].Session != "v0" || found[1].Session != "v1" || !strings.Contains(found[0].Says, "has not acknowledged") {
		t.Errorf("%+v", found)
	}
	gone := sc.see(r)
	gone.Looks[len(gone.Looks)-1].Publisher = ""
	if found, _ := Judge(gone); !slices.ContainsFunc(found, func(f Finding) bool { return f.Code == NoPublisher }) {
		t.Errorf("%+v", found)
	}
	for _, s := range []Seen{{}, {Looks: make([]Look, 1)}, {Looks: make([]Look, 2)}} {
		Judge(s) // of too little: no panic
	}
	// A stream with a picture a second is healthy.
	sc = scene{fps: 1, kbps: 100, speed: 1}
	if found, m := Judge(sc.see(r)); len(found) > 0 {
		t.Errorf("%+v %+v", found, m)
	}
}
