package hls

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hlstest"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A line is a timeline with a segmenter, whose playlist is checked after each unit.
type line struct {
	t *testing.T
	*timeline
	cutter *segmenter
	latest *hlstest.Playlist
	sent   [2][]got // units that were put
	seen   [2][]got // and samples that came out
	last   int64    // id of the last part that was seen
}

// got is what is compared: when it is decoded, in ms, and its bytes.
type got struct {
	at   float64
	data string
}

func newLine(t *testing.T, video, audio *au.Config, change func(*limits)) *line {
	sluicetest.NoLeaks(t, nil)
	l := limits{low: true, segments: 5, bytes: 1 << 24, take: func(int64) bool { return true }, give: func(int64) {}, share: func() int64 { return math.MaxInt64 }}
	if change != nil {
		change(&l)
	}
	x := &line{t: t, timeline: newTimeline(l), last: -1}
	x.cutter = newSegmenter(x.timeline, mem.Default(), video, audio, time.Second, 500*time.Millisecond)
	t.Cleanup(func() {
		x.end(nil)
		x.free()
		if x.held != 0 {
			t.Errorf("%d bytes are held at the end", x.held)
		}
	})
	return x
}

func (x *line) put(u au.Unit) {
	x.t.Helper()
	kind := 1
	if u.Video {
		kind = 0
	}
	var data []byte
	if u.Codec == flv.CodecAVC {
		data = au.AppendLengths(nil, u.Parts)
	} else {
		data = bytes.Join(u.Parts, nil)
	}
	x.sent[kind] = append(x.sent[kind], got{float64(u.Time), string(data)})
	if !x.cutter.put(&u) {
		x.t.Fatal("no memory")
	}
	x.look()
}

// look checks the playlist as it is now, and reads new parts.
func (x *line) look() {
	x.t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.all {
		for _, p := range s.parts {
			if p.id <= x.last {
				continue
			}
			if p.id != x.last+1 {
				x.t.Fatalf("part %d follows part %d", p.id, x.last)
			}
			x.last = p.id
			var parts fmp4.Parts
			if err := parts.Unmarshal(p.buf.Bytes()); err != nil {
				x.t.Fatal(err)
			}
			scale := [2]float64{videoScale / 1000, 44.1}
			for _, track := range parts[0].Tracks {
				at := track.BaseTime
				if c := x.cutter.tracks[1]; track.ID == 2 && c != nil {
					scale[1] = float64(c.scale) / 1000
				}
				for _, one := range track.Samples {
					x.seen[track.ID-1] = append(x.seen[track.ID-1], got{float64(at) / scale[track.ID-1], string(one.Payload)})
					at += uint64(one.Duration)
				}
			}
		}
	}
	if x.target == 0 {
		return
	}
	now, err := hlstest.Parse(strings.Join(x.playlist(), ""))
	if err != nil {
		x.t.Fatalf("%v\n%s", err, strings.Join(x.playlist(), ""))
	}
	if x.latest != nil {
		if err := now.Follows(x.latest); err != nil {
			x.t.Fatalf("%v\n%s", err, strings.Join(x.playlist(), ""))
		}
	}
	x.latest = now
}

// same checks that what came out is what went in, but for the units before the first
// picture, and at the same times to a millisecond.
func (x *line) same() {
	x.t.Helper()
	if !x.cutter.finish() {
		x.t.Fatal("no memory")
	}
	x.look()
	for kind, want := range x.sent {
		seen := x.seen[kind]
		for len(want) > 0 && len(seen) > 0 && want[0].data != seen[0].data {
			want = want[1:]
		}
		if len(seen) != len(want) {
			x.t.Errorf("track %d: %d samples, want %d", kind, len(seen), len(want))
			continue
		}
		for i := range seen {
			if seen[i].data != want[i].data || math.Abs(seen[i].at-want[i].at) > 1.001 {
				x.t.Errorf("track %d, sample %d: %d bytes at %.3f ms, want %d bytes at %.3f", kind, i, len(seen[i].data), seen[i].at, len(want[i].data), want[i].at)
				break
			}
		}
	}
}

// clip returns the units of a clip of H.264 and AAC, and its length in ms.
func clip(t *testing.T) (units []au.Unit, length uint32) {
	t.Helper()
	var s au.Splitter
	for _, g := range flvtest.Clip(t) {
		u, ok, err := s.Split(g.Type, g.Time, []byte(g.Payload))
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			var parts [][]byte
			for _, p := range u.Parts {
				parts = append(parts, bytes.Clone(p))
			}
			u.Parts = parts
			units = append(units, u)
			length = max(length, u.Time)
		}
	}
	return units, length + 40
}

func configsOf(units []au.Unit) (video, audio *au.Config) {
	for _, u := range units {
		if u.Video {
			video = u.Config
		} else {
			audio = u.Config
		}
	}
	return video, audio
}

// made returns units of a picture every interval ms with a key frame every group, and of
// sound every 23 ms, for a time. Zero intervals leave the kind out.
func made(from, length, interval, group uint32, video, audio *au.Config) (units []au.Unit) {
	pictures := uint32(0)
	sound := uint32(0)
	for at := uint32(0); at < length; at++ {
		if interval > 0 && at%interval == 0 {
			key := pictures%group == 0
			nal := []byte{0x41, byte(pictures), byte(pictures >> 8), 1}
			if key {
				nal[0] = 0x65
			}
			units = append(units, au.Unit{Video: true, Codec: flv.CodecAVC, Config: video, Time: from + at, Key: key, Parts: [][]byte{nal}})
			pictures++
		}
		if audio != nil && at == uint32(int64(sound)*1024*1000/44100) {
			units = append(units, au.Unit{Codec: flv.CodecAAC, Config: audio, Time: from + at, Key: true, Parts: [][]byte{{byte(sound), byte(sound >> 8), 7}}})
			sound++
		}
	}
	return units
}

func TestAClipOverAndOver(t *testing.T) {
	units, length := clip(t)
	video, audio := configsOf(units)
	for _, low := range []bool{true, false} {
		t.Run(fmt.Sprintf("low latency %v", low), func(t *testing.T) {
			x := newLine(t, video, audio, func(l *limits) { l.low = low })
			for n := range uint32(12) {
				for _, u := range units {
					u.Time += n * length
					x.put(u)
				}
			}
			x.same()
			if x.latest.Sequence == firstNumber || x.latest.Discontinuity != 0 {
				t.Errorf("sequence %d, discontinuity %d", x.latest.Sequence, x.latest.Discontinuity)
			}
			if low != (x.latest.PartTarget > 0) {
				t.Errorf("part target %v", x.latest.PartTarget)
			}
		})
	}
}

// Every rate of pictures gives parts and segments by the rules, also one picture in two
// seconds, and sound alone.
func TestRatesOfPictures(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	for _, interval := range []uint32{0, 8, 17, 33, 40, 83, 143, 167, 200, 334, 1000, 2000} {
		for _, sound := range []bool{true, false} {
			if interval == 0 && !sound {
				continue
			}
			t.Run(fmt.Sprintf("%d ms, sound %v", interval, sound), func(t *testing.T) {
				v, a := video, audio
				if interval == 0 {
					v = nil
				}
				if !sound {
					a = nil
				}
				x := newLine(t, v, a, nil)
				group := uint32(1)
				if interval > 0 {
					group = max(1, 2000/interval)
				}
				for _, u := range made(0, 14_000, interval, group, v, a) {
					x.put(u)
				}
				x.same()
				if x.latest == nil || len(x.latest.Segments) < 3 {
					t.Error("too few segments")
				}
			})
		}
	}
}

// When groups of pictures become longer, as those of encoders that make key frames where
// the scene changes, segments do too and all begin with a key frame; browsers cannot begin
// with others. The target duration grows with them, once.
func TestGroupsThatGrow(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	x := newLine(t, video, audio, nil)
	all := made(0, 8000, 40, 50, video, audio)
	all = append(all, made(8000, 36_000, 40, 250, video, audio)...)
	for _, u := range all {
		x.put(u)
		if x.target != 0 && x.target != 2 && x.target != 10 {
			t.Fatalf("after %d ms segments are at most %d s", u.Time, x.target)
		}
	}
	if x.target != 10 {
		t.Errorf("segments are at most %d s", x.target)
	}
	for _, s := range x.all {
		if len(s.parts) > 0 && !s.parts[0].key {
			t.Errorf("segment %d begins at %d ms without a key frame", s.number, s.start)
		}
	}
	x.same()
}

// Without a key frame for longer than a segment may last it ends all the same. Without
// pictures it ends where the target duration was declared.
func TestKeyFramesThatStayAway(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	for _, c := range []struct {
		interval uint32
		target   int64
	}{{40, 30}, {0, 2}} {
		x := newLine(t, video, audio, nil)
		for _, u := range append(made(0, 8000, 40, 50, video, audio), made(8000, 70_000, c.interval, 10_000, video, audio)...) {
			x.put(u)
		}
		if x.target != c.target {
			t.Errorf("with a picture every %d ms segments are at most %d s, want %d", c.interval, x.target, c.target)
		}
	}
}

// With a key frame every half minute the first segment does not wait for the second one,
// for which no player would wait, and later ones begin with them.
func TestGroupsOfHalfAMinute(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	x := newLine(t, video, audio, nil)
	for _, u := range made(0, 64_000, 40, 750, video, audio) {
		x.put(u)
		if u.Time == 16_000 && (x.latest == nil || len(x.all) != 2) {
			t.Fatalf("after 16 s there is %d s of the first segment", x.all[0].duration/1000)
		}
	}
	x.same()
	if x.target != 30 {
		t.Errorf("segments are at most %d s", x.target)
	}
	keys := 0
	for _, s := range x.all {
		if s.start%30_000 == 0 && s.parts[0].key {
			keys++
		}
	}
	if keys != 3 {
		t.Errorf("%d segments begin with a key frame", keys)
	}
}

// Another clock, other parameters, a track that comes and one that goes are
// discontinuities, apart from sound in whose place there is silence, and the playlist goes on by the rules.
func TestDiscontinuities(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	other := *video
	other.Record = bytes.Clone(video.Record)
	other.Record[3]++ // the level
	mono, err := au.NewAACConfig([]byte{0x12, 0x08})
	if err != nil {
		t.Fatal(err)
	}
	surround, err := au.NewAACConfig([]byte{0x12, 0x30})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name         string
		then         []au.Unit
		video, audio *au.Config // at first
		breaks       int
		maps         int
	}{
		{"clock to the future", made(100_000, 10_000, 40, 25, video, audio), video, audio, 1, 1},
		{"clock to the past", made(0, 10_000, 40, 25, video, audio), video, audio, 1, 1},
		{"other pictures", made(10_000, 10_000, 40, 25, &other, audio), video, audio, 1, 2},
		{"other sound", made(10_000, 10_000, 40, 25, video, mono), video, audio, 1, 2},
		{"all other and another clock", made(5, 10_000, 40, 25, &other, mono), video, audio, 1, 2},
		{"sound comes", made(10_000, 10_000, 40, 25, video, audio), video, nil, 1, 2},
		{"pictures come", made(10_000, 10_000, 40, 25, video, audio), nil, audio, 1, 2},
		{"sound goes", made(10_000, 10_000, 40, 25, video, nil), video, audio, 0, 1},
		{"sound of six channels goes", made(10_000, 10_000, 40, 25, video, nil), video, surround, 0, 1},
		{"pictures go", made(10_000, 16_000, 0, 25, nil, audio), video, audio, 1, 2},
		{"pictures go and other sound", made(10_000, 26_000, 0, 25, nil, mono), video, audio, 1, 2},
		{"pictures go, then come", append(made(10_000, 26_000, 0, 25, nil, mono), made(36_000, 10_000, 40, 25, video, mono)...), video, audio, 2, 3},
		{"pictures go and another clock", made(100_000, 26_000, 0, 25, nil, audio), video, audio, 1, 2},
		{"the same", made(10_000, 10_000, 40, 25, video, audio), video, audio, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newLine(t, c.video, c.audio, func(l *limits) { l.segments = 50 })
			newest := [2]*au.Config{c.video, c.audio}
			x.cutter.configs = func() [2]*au.Config { return newest }
			set := func(u au.Unit) {
				if u.Time == c.then[0].Time {
					newest[0], newest[1] = configsOf(c.then)
				}
			}
			interval := uint32(40)
			if c.video == nil {
				interval = 0
			}
			for _, u := range append(made(0, 10_000, interval, 25, c.video, c.audio), c.then...) {
				set(u)
				x.put(u)
			}
			if !x.cutter.finish() {
				t.Fatal("no memory")
			}
			x.look()
			breaks, maps := 0, map[string]bool{}
			for _, s := range x.latest.Segments {
				maps[s.Map] = true
				if s.Discontinuity {
					breaks++
				}
			}
			if breaks != c.breaks || len(maps) != c.maps {
				t.Errorf("%d discontinuities with %d initializations, want %d and %d\n%s", breaks, len(maps), c.breaks, c.maps, strings.Join(x.playlist(), ""))
			}
		})
	}
}

// Times go on across 32 bits of milliseconds.
func TestTimesThatWrap(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	x := newLine(t, video, audio, nil)
	for _, u := range made(math.MaxUint32-5000, 12_000, 40, 25, video, audio) {
		x.put(u)
	}
	if x.cutter.finish(); len(x.latest.Segments) < 5 {
		t.Errorf("%d segments", len(x.latest.Segments))
	}
	for _, s := range x.latest.Segments {
		if s.Discontinuity {
			t.Error("a discontinuity")
		}
	}
}

// A stream is bounded in bytes, and all streams together: the oldest segments go.
func TestMemoryOfSegments(t *testing.T) {
	units, _ := clip(t)
	video, _ := configsOf(units)
	big := make([]byte, 100_000)
	for _, c := range []struct {
		name       string
		own, share int64
	}{{"of a stream", 2 << 20, 1 << 40}, {"of all", 1 << 40, 2 << 20}} {
		t.Run(c.name, func(t *testing.T) {
			held, most := int64(0), int64(0)
			x := newLine(t, video, nil, func(l *limits) {
				l.bytes, l.segments = c.own, 50
				l.take = func(n int64) bool {
					if held+n > c.share {
						return false
					}
					held += n
					most = max(most, held)
					return true
				}
				l.give = func(n int64) { held -= n }
			})
			for _, u := range made(0, 40_000, 100, 10, video, nil) {
				u.Parts = append(u.Parts, big)
				if !x.cutter.put(&u) {
					t.Fatal("no memory")
				}
			}
			if most > 2<<20 || most < 1<<20 {
				t.Errorf("%d bytes were held", most)
			}
		})
	}
	t.Run("none at all", func(t *testing.T) {
		x := newLine(t, video, nil, func(l *limits) { l.take = func(int64) bool { return false } })
		failed := false
		for _, u := range made(0, 2000, 40, 25, video, nil) {
			failed = failed || !x.cutter.put(&u)
		}
		if !failed {
			t.Error("the segmenter says that there is memory")
		}
	})
}

// Of a clock that has wrapped, pictures and sound stay together behind a discontinuity.
func TestADiscontinuityBehindTheWrap(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	hour := uint32(time.Hour / time.Millisecond)
	for name, then := range map[string]uint32{
		"forward":                            8000,
		"back":                               math.MaxUint32 - 1<<20,
		"back to before the stream's clock":  math.MaxUint32 - 1<<20 - 10*hour,
		"forward beyond half of all numbers": 1<<31 + 20_000,
	} {
		t.Run(name, func(t *testing.T) {
			x := newLine(t, video, audio, func(l *limits) { l.segments = 50 })
			for _, u := range made(math.MaxUint32-5000, 7_000, 40, 25, video, audio) {
				x.put(u)
			}
			before := [2]int{len(x.seen[0]), len(x.seen[1])}
			for _, u := range made(then+20_000, 5_000, 40, 25, video, audio) {
				x.put(u)
			}
			if !x.cutter.finish() {
				t.Fatal("no memory")
			}
			x.look()
			apart := x.seen[0][len(x.seen[0])-1].at - x.seen[1][len(x.seen[1])-1].at
			if len(x.seen[0]) < before[0]+100 || len(x.seen[1]) < before[1]+150 {
				t.Errorf("%d pictures and %d frames of sound behind it", len(x.seen[0])-before[0], len(x.seen[1])-before[1])
			}
			if apart < -100 || apart > 100 {
				t.Errorf("pictures end %.0f ms after sound", apart)
			}
		})
	}
}

// A stream may begin where its clock wraps, between its tracks.
func TestAStreamThatBeginsAtTheWrap(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	x := newLine(t, video, audio, nil)
	list := made(5, 5_000, 40, 25, video, audio)
	for i := range list {
		if !list[i].Video {
			list[i].Time -= 20 // the first is before 0
		}
		x.put(list[i])
	}
	x.cutter.finish()
	x.look()
	if n := len(x.seen[1]); n < 200 || x.seen[1][n-1].at > 5_000 {
		t.Errorf("%d frames of sound, the last at %.0f", n, x.seen[1][n-1].at)
	}
}

// Of a stream whose times stand still no segment has an end: that is found out, and does not
// take memory without a limit.
func TestTimesThatStandStill(t *testing.T) {
	units, _ := clip(t)
	video, _ := configsOf(units)
	unit := func(at uint32, size int) *au.Unit {
		return &au.Unit{Video: true, Codec: flv.CodecAVC, Config: video, Time: at, Key: true, Parts: [][]byte{make([]byte, size)}}
	}
	x := newLine(t, video, nil, nil)
	came := time.Unix(0, 0)
	x.cutter.now = func() time.Time { return came }
	for i := range 300 {
		came = came.Add(40 * time.Millisecond)
		at := uint32(0)
		if i < 100 {
			at = uint32(40 * i)
		}
		if !x.cutter.put(unit(at, 10)) {
			t.Fatal("no memory")
		}
		if got, want := x.cutter.still(), i > 100+125; got != want {
			t.Fatalf("unit %d: still %v", i, got)
		}
	}
	// A pause is none.
	came = came.Add(time.Hour)
	if x.cutter.put(unit(1<<20, 10)); x.cutter.still() {
		t.Error("times that go on after a pause stand still")
	}
	small := newLine(t, video, nil, func(l *limits) { l.bytes = 1 << 16 })
	n := 0
	for small.cutter.put(unit(0, 1000)) {
		if n++; n > 100 {
			t.Fatalf("%d bytes are held, of %d", small.cutter.unsent(), 1<<16)
		}
	}
}

// Where sound gets other parameters in the middle of a group of pictures, no picture is lost:
// the sound begins again with the next key frame.
func TestSoundThatChangesCostsNoPictures(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	other, err := au.NewAACConfig([]byte{0x11, 0x88})
	if err != nil {
		t.Fatal(err)
	}
	x := newLine(t, video, audio, nil)
	newest := audio
	x.cutter.configs = func() [2]*au.Config { return [2]*au.Config{video, newest} }
	const changes = 3300
	late := 0
	for _, u := range made(0, 8000, 40, 50, video, audio) {
		if !u.Video && u.Time >= changes {
			u.Config, newest = other, other
			if u.Time >= 4000 { // the key frame
				late++
			}
		}
		x.put(u)
	}
	if !x.cutter.finish() {
		t.Fatal("no memory")
	}
	x.look()
	if len(x.seen[0]) != len(x.sent[0]) {
		t.Errorf("%d pictures of %d", len(x.seen[0]), len(x.sent[0]))
	}
	before := len(x.sent[1]) - late
	if n := len(x.seen[1]); n < late+before*3/4 || n > len(x.sent[1]) {
		t.Errorf("%d frames of sound of %d", n, len(x.sent[1]))
	}
	broken := 0
	for _, s := range x.all {
		if s.broken {
			broken++
		}
	}
	if broken != 1 || len(x.inits) != 2 {
		t.Errorf("%d discontinuities, %d initializations", broken, len(x.inits))
	}
	// Without pictures there is nothing to wait for.
	for at := uint32(8000); at < 12000; at += 20 {
		u := au.Unit{Codec: flv.CodecAAC, Config: other, Time: at, Key: true, Parts: [][]byte{{1, 2}}}
		if at > 9500 {
			u.Config = audio
		}
		if !x.cutter.put(&u) {
			t.Fatal("no memory")
		}
	}
	if x.cutter.tracks[1].config != audio {
		t.Error("sound waits for pictures that do not come")
	}
}

// Sound of a codec that HLS carries, with parameters that it has no form for, costs no
// pictures: not from the beginning, and not when it becomes so.
func TestSoundWithoutAFormCostsNoPictures(t *testing.T) {
	channels, err := au.NewAACConfig([]byte{0x12, 0x00}) // they stand among the frames
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*au.Config{"AAC": channels, "Opus": au.NewOpusConfig(6)} {
		for from, before := range map[string]int{"the beginning": 0, "the middle": 100} {
			t.Run(name+" from "+from, func(t *testing.T) {
				units, _ := clip(t)
				video, audio := configsOf(units)
				if before == 0 {
					audio = nil
				}
				x := newLine(t, video, audio, nil)
				newest := audio
				x.cutter.configs = func() [2]*au.Config { return [2]*au.Config{video, newest} }
				for i, u := range units {
					if i < before || u.Video {
						x.put(u)
						continue
					}
					u.Codec, u.Config, newest = config.Codec, config, config
					x.put(u)
					x.sent[1] = x.sent[1][:len(x.sent[1])-1]
				}
				if !x.cutter.finish() {
					t.Fatal("no memory")
				}
				x.look()
				if audio != nil { // up to the next key frame
					x.seen[1] = slices.DeleteFunc(x.seen[1], func(one got) bool { return one.data == string(silence(audio)) })
				}
				x.same()
				if len(x.seen[0]) < 100 {
					t.Errorf("%d pictures", len(x.seen[0]))
				}
			})
		}
	}
}
