package hls

import (
	"math"
	"testing"
	"time"
)

// A segment can be had for its duration and that of the longest playlist that listed it,
// counted from when it left the playlist (RFC 8216, section 6.2.2).
func TestSegmentsThatHaveLeftThePlaylist(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	for _, low := range []bool{true, false} {
		x := newLine(t, video, audio, func(l *limits) { l.low = low })
		clock := time.Unix(1_700_000_000, 0)
		x.cutter.now = func() time.Time { return clock }
		type leaving struct {
			until    time.Time
			duration int64
		}
		left := map[int64]leaving{}
		longest := map[int64]int64{} // of the playlists that listed a segment, in ms
		first, most := int64(firstNumber), 0
		for _, u := range made(0, 40_000, 40, 25, video, audio) {
			clock = time.Unix(1_700_000_000, 0).Add(time.Duration(u.Time) * time.Millisecond)
			x.put(u)
			length := int64(0)
			for _, s := range x.all[x.listed:] {
				length += s.duration
			}
			for _, s := range x.all[x.listed:] {
				longest[s.number] = max(longest[s.number], length)
			}
			for ; first < x.all[x.listed].number; first++ {
				s := x.find(first)
				if s == nil {
					t.Fatalf("segment %d left memory and playlist at one time", first)
				}
				left[first] = leaving{clock.Add(time.Duration(s.duration+longest[first]) * time.Millisecond), s.duration}
			}
			for number, l := range left {
				if x.find(number) == nil && clock.Before(l.until) {
					t.Fatalf("segment %d of %d ms left memory %v too early", number, l.duration, l.until.Sub(clock))
				}
			}
			most = max(most, len(x.all))
		}
		if len(left) < 20 || most > 16 {
			t.Errorf("%d segments left the playlist, at most %d were held", len(left), most)
		}
	}
}

// Segments that have left the playlist take no more than half of the memory that a stream
// may have, so that other streams begin.
func TestMemoryOfSegmentsThatHaveLeftThePlaylist(t *testing.T) {
	units, _ := clip(t)
	video, _ := configsOf(units)
	big := make([]byte, 100_000)
	for name, change := range map[string]func(*limits){
		"of a stream": func(l *limits) { l.bytes = 16 << 20 },
		"of all":      func(l *limits) { l.bytes, l.share = math.MaxInt64, func() int64 { return 16 << 20 } },
	} {
		t.Run(name, func(t *testing.T) {
			x := newLine(t, video, nil, change)
			most := int64(0)
			for _, u := range made(0, 60_000, 100, 10, video, nil) {
				u.Parts = append(u.Parts, big)
				x.put(u)
				if !x.current().done && len(x.current().parts) <= 1 {
					most = max(most, x.held)
				}
			}
			// 5 MB are listed, and two segments of 1 MB behind them are held in any case.
			if most < 7_000_000 || most > 8<<20+1_000_000 {
				t.Errorf("%d bytes were held", most)
			}
		})
	}
}

// Players are three target durations behind: where memory is not enough for so much, the log can say so.
func TestMemoryThatIsNotEnoughIsKnown(t *testing.T) {
	units, _ := clip(t)
	video, _ := configsOf(units)
	big := make([]byte, 100_000)
	for bytes, want := range map[int64]bool{3 << 20: true, 6 << 20: false, 64 << 20: false} {
		x := newLine(t, video, nil, func(l *limits) { l.bytes = bytes })
		short := false
		for _, u := range made(0, 30_000, 100, 10, video, nil) {
			u.Parts = append(u.Parts, big)
			if !x.cutter.put(&u) { // its playlists are too short to be looked at
				t.Fatal("no memory")
			}
			short = short || x.isShort()
		}
		if short != want {
			t.Errorf("1 MB a second in %d bytes: short %v, want %v", bytes, short, want)
		}
	}
}

// hls.js, before 1.7, asks for no playlist ahead of time while the last segment of the one
// that it has is number 0: its first viewer waited for a target duration, with what
// it had to play at an end. What the first segment follows no player has had: it is no discontinuity.
func TestTheFirstSegmentOfAPlaylist(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	for _, before := range []int64{0, 1 << 20} {
		x := newLine(t, video, audio, func(l *limits) { l.before = before })
		x.timeline.breaks()
		for _, u := range made(0, 2_000, 40, 25, video, audio) {
			x.put(u)
		}
		if x.latest == nil || x.latest.Sequence != int(1+before) || x.latest.Discontinuity != 0 {
			t.Fatalf("the first playlist is %+v, its first segment should be number %d", x.latest, 1+before)
		}
		x.breaks(0)
	}
}

// A clock that has not been set yet gives no negative numbers, which a playlist cannot have.
func TestNumbersFollowTheClock(t *testing.T) {
	for when, want := range map[time.Time]int64{time.Unix(0, 0): 0, numbered: 0, numbered.Add(time.Minute): 240} {
		if n := numbersBefore(when); n != want {
			t.Errorf("at %v: %d numbers before the first, want %d", when, n, want)
		}
	}
}
