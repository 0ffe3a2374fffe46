package hls

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/sluicetest"
)

// Pictures that come, or get other parameters, cannot be decoded before their key frame:
// sound goes on until then, and begins again where they do.
func TestPicturesThatChangeCostNoSound(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	other := *video
	other.Record = bytes.Clone(video.Record)
	other.Record[3]++ // the level
	for _, c := range []struct {
		name     string
		first    *au.Config
		interval uint32
	}{{"pictures come", nil, 0}, {"other pictures", video, 40}} {
		t.Run(c.name, func(t *testing.T) {
			x := newLine(t, c.first, audio, func(l *limits) { l.segments = 50 })
			all := made(0, 5200, c.interval, 25, c.first, audio)
			for _, u := range made(0, 10_000, 40, 25, &other, audio) {
				if u.Time < 5200 {
					continue
				}
				if !u.Video {
					u.Time++ // the same frames of sound, but those that are in both
				}
				all = append(all, u)
			}
			for _, u := range all {
				x.put(u)
			}
			if !x.cutter.finish() {
				t.Fatal("no memory")
			}
			x.look()
			if len(x.seen[1]) != len(x.sent[1]) {
				t.Errorf("%d frames of sound of %d", len(x.seen[1]), len(x.sent[1]))
			}
			undecodable := 20
			if len(x.seen[0]) != len(x.sent[0])-undecodable {
				t.Errorf("%d pictures of %d, %d of them before the key frame", len(x.seen[0]), len(x.sent[0]), undecodable)
			}
			x.breaks(1)
		})
	}
}

// From a change of their parameters on, key frames have the sets that the initialization has: ffmpeg
// passes over another initialization and would decode with the first.
func TestPicturesThatChangeHaveTheirParameters(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	record := bytes.Clone(video.Record)
	record[bytes.Index(record, video.Sets[0])+3]++ // the level
	other, err := au.ParseConfig(flv.CodecAVC, record)
	if err != nil {
		t.Fatal(err)
	}
	x := newLine(t, video, audio, func(l *limits) { l.segments = 50 })
	delimiter := []byte{9, 0xf0}
	var want []string // of key frames
	for i, config := range []*au.Config{video, other, video} {
		for _, u := range made(uint32(i)*5000, 5000, 40, 25, config, audio) {
			if u.Video && u.Key {
				keyed := slices.Clone(u.Parts)
				if i > 0 {
					keyed = slices.Concat(config.Sets, keyed)
				}
				if u.Time%2000 == 0 {
					u.Parts = append([][]byte{delimiter}, u.Parts...)
					keyed = append([][]byte{delimiter}, keyed...)
				}
				if u.Time%3000 == 0 && i > 0 {
					u.Parts = keyed // with sets of its own
				}
				want = append(want, string(au.AppendLengths(nil, keyed)))
			}
			x.put(u)
		}
	}
	if !x.cutter.finish() {
		t.Fatal("no memory")
	}
	x.look()
	for i, w := range want {
		if got := x.seen[0][25*i].data; got != w {
			t.Errorf("key frame %d is %x, want %x", i, got, w)
		}
	}
	x.breaks(2)
}

// Sound that comes begins with the next key frame, and no picture is lost.
func TestSoundThatComesCostsNoPictures(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	x := newLine(t, video, nil, func(l *limits) { l.segments = 50 })
	for _, u := range made(0, 10_000, 40, 25, video, audio) {
		if u.Video || u.Time > 5200 {
			x.put(u)
		}
	}
	if !x.cutter.finish() {
		t.Fatal("no memory")
	}
	x.look()
	if len(x.seen[0]) != len(x.sent[0]) {
		t.Errorf("%d pictures of %d", len(x.seen[0]), len(x.sent[0]))
	}
	if late := len(x.sent[1]) - len(x.seen[1]); late > 800/23+1 {
		t.Errorf("%d frames of sound are lost, the key frame was 800 ms later", late)
	}
	x.breaks(1)
}

// Sound whose other parameters have come before a key frame, as an encoder sends them when it begins again, goes
// on with it although its first frame comes behind that.
func TestSoundThatChangesAtAKeyFrameCostsNothing(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	other, err := au.NewAACConfig([]byte{0x12, 0x08})
	if err != nil {
		t.Fatal(err)
	}
	x := newLine(t, video, audio, func(l *limits) { l.segments = 50 })
	newest := audio
	x.cutter.configs = func() [2]*au.Config { return [2]*au.Config{video, newest} }
	for i, config := range []*au.Config{audio, other} {
		newest = config
		for _, u := range made(uint32(i)*5000, 5000, 40, 25, video, config) {
			x.put(u)
		}
	}
	x.same()
	x.breaks(1)
}

// Sound alone with other parameters goes on at once.
func TestSoundAloneThatChangesCostsNothing(t *testing.T) {
	units, _ := clip(t)
	_, audio := configsOf(units)
	other, err := au.NewAACConfig([]byte{0x12, 0x08})
	if err != nil {
		t.Fatal(err)
	}
	x := newLine(t, nil, audio, func(l *limits) { l.segments = 50 })
	for _, u := range made(0, 10_000, 0, 1, nil, audio) {
		if u.Time > 5200 {
			u.Config = other
		}
		x.put(u)
	}
	x.same()
	x.breaks(1)
}

// breaks checks the number of discontinuities.
func (x *line) breaks(want int) {
	x.t.Helper()
	n := 0
	for _, s := range x.latest.Segments {
		if s.Discontinuity {
			n++
		}
	}
	if n != want {
		x.t.Errorf("%d discontinuities, want %d\n%s", n, want, strings.Join(x.playlist(), ""))
	}
}

// A step of the clock by three seconds is a discontinuity where no time has passed, and a pause where
// as much has; pictures alone may be so far apart.
func TestAStepOfTheClock(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	for _, c := range []struct {
		name   string
		passed time.Duration
		sound  *au.Config
		breaks int
	}{{"no time passes", 0, audio, 1}, {"a pause", 3 * time.Second, audio, 0}, {"pictures alone", 0, nil, 0}} {
		t.Run(c.name, func(t *testing.T) {
			x := newLine(t, video, c.sound, func(l *limits) { l.segments = 50 })
			wall := time.Unix(1e9, 0)
			x.cutter.read = func() time.Time { return wall }
			for _, u := range made(0, 5_000, 40, 25, video, c.sound) {
				x.put(u)
			}
			wall = wall.Add(c.passed)
			for _, u := range made(8_000, 5_000, 40, 25, video, c.sound) {
				x.put(u)
			}
			x.breaks(c.breaks)
		})
	}
}

// Where the clock of pictures alone jumps between two key frames, no picture is lost, and they go on.
func TestTheClockOfPicturesAloneJumps(t *testing.T) {
	units, _ := clip(t)
	video, _ := configsOf(units)
	for _, by := range []uint32{1<<32 - 3_000, 1<<32 - 100_000, 30_000, 1 << 31} {
		for _, n := range []int{110, 100} { // between key frames, and at one
			x := newLine(t, video, nil, func(l *limits) { l.segments = 50 })
			list := made(200_000, 10_000, 40, 25, video, nil)
			for i, u := range list {
				if i >= n {
					u.Time += by
				}
				x.put(u)
			}
			if !x.cutter.finish() {
				t.Fatal("no memory")
			}
			x.look()
			if len(x.seen[0]) != len(list) {
				t.Errorf("by %d at picture %d: %d pictures, want %d", int32(by), n, len(x.seen[0]), len(list))
			}
			x.breaks(min(1, 110-n))
		}
	}
}

// The date goes on with the wall clock when the stream's clock is set, in either direction,
// and never goes back.
func TestDatesAcrossDiscontinuities(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	other := *video
	other.Record = bytes.Clone(video.Record)
	other.Record[3]++ // the level
	for name, test := range map[string]struct {
		then []au.Unit
		away int64 // ms in between, of which the stream's clock knows nothing
	}{
		"clock to the future": {then: made(1_000_000, 5_000, 40, 25, video, audio)},
		"clock to the past":   {then: made(3, 5_000, 40, 25, video, audio)},
		"other pictures":      {then: made(10_003, 5_000, 40, 25, &other, audio)},
		"pictures overlap":    {then: made(9_960, 5_000, 40, 25, &other, audio)},
		"another publisher":   {then: made(10_003, 5_000, 40, 25, &other, audio), away: 4_000},
	} {
		t.Run(name, func(t *testing.T) {
			x := newLine(t, video, audio, func(l *limits) { l.segments = 50 })
			wall := time.UnixMilli(1_700_000_000_000)
			x.cutter.now = func() time.Time { return wall }
			for i, list := range [][]au.Unit{made(0, 10_000, 40, 25, video, audio), test.then} {
				for _, u := range list {
					wall = time.UnixMilli(1_700_000_000_000 + int64(i)*(10_000+test.away) + int64(u.Time-list[0].Time))
					x.put(u)
				}
			}
			if !x.cutter.finish() {
				t.Fatal("no memory")
			}
			x.look()
			for _, s := range x.latest.Segments {
				if off := s.Date.Sub(wall).Abs(); off > 20*time.Second {
					t.Fatalf("a segment is of %v, now is %v", s.Date, wall)
				}
			}
			last := x.latest.Segments[len(x.latest.Segments)-1]
			end := last.Date.Add(time.Duration(last.Duration * float64(time.Second)))
			if off := end.Sub(wall).Abs(); off > 200*time.Millisecond {
				t.Errorf("the list ends at %v, now is %v", end, wall)
			}
		})
	}
}

// A stream that goes on without the time in which its publisher was away has dates that follow,
// and one that came late once, and all together then, keeps its own.
func TestDatesFollowBreaks(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	x := newLine(t, video, audio, func(l *limits) { l.segments = 50 })
	start := time.UnixMilli(1_700_000_000_000)
	away, late := time.Duration(0), time.Duration(0)
	var wall time.Time
	x.cutter.now = func() time.Time { return wall }
	send := func(from, length uint32) {
		for _, u := range made(from, length, 40, 25, video, audio) {
			wall = start.Add(away + max(time.Duration(u.Time)*time.Millisecond, late))
			x.put(u)
		}
	}
	lag := func() time.Duration {
		t.Helper()
		x.look()
		last := x.latest.Segments[len(x.latest.Segments)-1]
		return wall.Sub(last.Date.Add(time.Duration(last.Duration * float64(time.Second))))
	}
	send(0, 5_000)
	late = 8 * time.Second // a line that stands still for 3 s
	send(5_000, 25_000)
	if off := lag().Abs(); off > 1200*time.Millisecond {
		t.Errorf("the list ends %v from now after a burst", off)
	}
	at := uint32(30_000)
	for range 20 {
		away += 3 * time.Second
		send(at, 5_000)
		at += 5_000
	}
	send(at, 25_000)
	if off := lag().Abs(); off > 1200*time.Millisecond {
		t.Errorf("the list ends %v from now after 20 breaks", off)
	}
	x.breaks(0)
}

// Pictures that come when they like give parts by the rules, with sound and without, and each
// picture is there.
func TestIrregularPictures(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	seed := sluicetest.Seed(t)
	for _, longest := range []uint32{90, 300, 700, 1400, 4000} {
		for _, sound := range []bool{true, false} {
			t.Run(fmt.Sprintf("up to %d ms, sound %v", longest, sound), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(longest)))
				a := audio
				if !sound {
					a = nil
				}
				x := newLine(t, video, a, nil)
				all := made(0, 60_000, 0, 1, nil, a)
				at, n := uint32(0), 0
				for at < 60_000 {
					nal := []byte{0x41, byte(n), byte(n >> 8), 1}
					if n%20 == 0 {
						nal[0] = 0x65
					}
					all = append(all, au.Unit{Video: true, Codec: flv.CodecAVC, Config: video, Time: at, Key: n%20 == 0, Parts: [][]byte{nal}})
					if n++; rng.IntN(4) == 0 && n > 2 {
						at += 1 + rng.Uint32N(longest)
					} else {
						at += 33
					}
				}
				slices.SortStableFunc(all, func(a, b au.Unit) int { return int(a.Time) - int(b.Time) })
				for _, u := range all {
					x.put(u)
				}
				x.same()
				if x.longest > 500 {
					t.Errorf("parts of up to %d ms", x.longest)
				}
				length := 0.0
				for _, s := range x.latest.Segments {
					length += s.Duration
				}
				first, last := x.latest.Segments[0], x.latest.Segments[len(x.latest.Segments)-1]
				is := last.Date.Sub(first.Date).Seconds() + last.Duration
				if (sound || longest < 500) && math.Abs(length-is) > 0.01 {
					t.Errorf("segments of %.3f s together take %.3f s", length, is)
				}
			})
		}
	}
}

// A playlist says that a part that is hinted at comes after a discontinuity, and with another
// initialization, before there is any part of its segment. hls.js before 1.7 takes it for one of
// the segment before otherwise, and plays nothing from there on.
func TestPlaylistsSayWhatTheHintedPartBeginsWith(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	other := *video
	other.Record = bytes.Clone(video.Record)
	other.Record[3]++ // the level
	x := newLine(t, video, audio, nil)
	var texts []string
	remember := func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.target > 0 {
			texts = append(texts, strings.Join(x.render(), ""))
		}
	}
	for _, u := range append(made(0, 2_000, 40, 25, video, audio), made(2_000, 400, 40, 25, &other, audio)...) {
		x.put(u)
		remember()
		if u.Config == &other {
			break
		}
	}
	_, end, ok := strings.Cut(texts[len(texts)-1], "s2.mp4\n")
	if !ok || !strings.HasPrefix(end, "#EXT-X-DISCONTINUITY\n#EXT-X-MAP:") || !strings.Contains(end, "\n#EXT-X-PRELOAD-HINT:") {
		t.Fatalf("behind the segment before the change there is\n%s", end)
	}
	// The same when the playlist is read before the segment is open.
	x.cutter.restart(true, 3_000)
	remember()
	if end := texts[len(texts)-1]; !strings.Contains(end, "#EXT-X-DISCONTINUITY\n#EXT-X-PRELOAD-HINT:") {
		t.Errorf("before the next segment is open the playlist is\n%s", end)
	}
}

// What comes later stands first in fragments, and stays there.
func TestATrackThatComesLaterStandsFirst(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	for kind, from := range [][2]*au.Config{{nil, audio}, {video, nil}} { // which comes later
		x := newLine(t, from[0], from[1], nil)
		for _, u := range made(0, 8000, 40, 25, video, audio) {
			if later := kind == 0 == u.Video; later && (u.Time < 3000 || u.Time > 5000 && u.Time < 6000) {
				continue
			}
			x.put(u)
		}
		if !x.cutter.finish() {
			t.Fatal("no memory")
		}
		both := 0
		for _, s := range x.all {
			for _, p := range s.parts {
				var parts fmp4.Parts
				if err := parts.Unmarshal(p.buf.Bytes()); err != nil {
					t.Fatal(err)
				}
				if list := parts[0].Tracks; len(list) == 2 {
					both++
					if list[0].ID != kind+1 {
						t.Fatalf("track %d stands behind track %d", kind+1, list[0].ID)
					}
				}
			}
		}
		if both == 0 {
			t.Errorf("kind %d: no part has both tracks", kind)
		}
	}
}
