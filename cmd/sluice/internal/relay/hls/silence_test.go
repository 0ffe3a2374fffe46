package hls

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// changed puts ten seconds of units into a line, whose sound is another from 5.2 s to back.
func changed(t *testing.T, x *line, other *au.Config, back uint32) {
	t.Helper()
	units, _ := clip(t)
	video, audio := configsOf(units)
	for _, u := range made(0, 10_000, 40, 25, video, audio) {
		if !u.Video && u.Time > 5200 && u.Time < back {
			u.Config, u.Codec = other, other.Codec
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
}

// silent counts the frames of silence, and checks that there is sound in a time without a hole.
func (x *line) silent(from, to float64) (n int) {
	x.t.Helper()
	last := from
	for _, one := range x.seen[1] {
		if one.at < from || one.at > to {
			continue
		}
		if one.at-last > 50 {
			x.t.Errorf("no sound from %.0f to %.0f ms", last, one.at)
		}
		last = one.at
		if len(one.data) <= 7 && one.data == string(silence(x.cutter.tracks[1].config)) {
			n++
		}
	}
	if to-last > 50 {
		x.t.Errorf("no sound from %.0f to %.0f ms", last, to)
	}
	return n
}

// Browsers stop where a track of a segment has a hole: where sound with other parameters waits
// for a key frame there is silence, and as much of it.
func TestSoundThatChangesIsSilenceUpToTheKeyFrame(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	other, err := au.NewAACConfig([]byte{0x12, 0x10})
	if err != nil {
		t.Fatal(err)
	}
	if audio.Rate != other.Rate || audio.Channels == other.Channels {
		t.Fatalf("the clip has %v: the test needs the same rate and other channels", audio)
	}
	x := newLine(t, video, audio, func(l *limits) { l.segments = 50 })
	changed(t, x, other, 20_000)
	n := 0
	for _, one := range x.seen[1] {
		if one.data == string(silence(audio)) {
			n++
		}
	}
	if n < 800/23-1 || n > 800/23+1 {
		t.Errorf("%d frames of silence in 800 ms", n)
	}
	x.silent(0, 9900)
	x.breaks(1)
}

// The same where sound gets a codec that HLS has no form for, as long as it has that: browsers
// take no other tracks than those that they began with. When it is back it goes on at once.
func TestSoundWithoutAFormIsSilence(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	for _, back := range []uint32{20_000, 7_500, 5_600} {
		x := newLine(t, video, audio, func(l *limits) { l.segments = 50 })
		changed(t, x, au.NewPlainConfig(flv.CodecMP3, 44100, 2), back)
		want := int(min(back, 10_000)-5_200) * 44100 / 1024 / 1000
		if n := x.silent(0, 9900); n < want-4 || n > want+4 {
			t.Errorf("back at %d ms: %d frames of silence, want %d", back, n, want)
		}
		x.breaks(0)
	}
}

// The same where no sound comes for a time, or any more: pictures have gone on for two seconds
// then. Sound that comes seconds behind pictures all the time loses what it is behind by, once.
func TestSoundThatStaysAwayIsSilence(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	for _, c := range []struct{ from, back, behind uint32 }{
		{5_200, 60_000, 0}, {5_200, 9_000, 0}, {5_200, 25_000, 0}, {60_000, 0, 3_000}, {5_200, 25_000, 3_000},
	} {
		t.Run(fmt.Sprintf("from %d to %d ms, %d ms behind", c.from, c.back, c.behind), func(t *testing.T) {
			x := newLine(t, video, audio, func(l *limits) { l.segments = 50 })
			all := made(0, 30_000, 40, 25, video, audio)
			slices.SortStableFunc(all, func(a, b au.Unit) int {
				comes := func(u au.Unit) int {
					if u.Video {
						return int(u.Time)
					}
					return int(u.Time + c.behind)
				}
				return comes(a) - comes(b)
			})
			missing := 0
			for _, u := range all {
				if !u.Video && u.Time >= c.from && u.Time < c.back {
					missing++
					continue
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
			if n := x.silent(0, 29_900-float64(c.behind)); n > missing+3+int(c.behind)/23 || c.behind == 0 && n < missing-5 {
				t.Errorf("%d frames of silence, %d of sound are missing", n, missing)
			}
			if real := len(x.seen[1]) - missing; real < len(x.sent[1])-5 && c.behind == 0 {
				t.Errorf("%d frames of sound of %d", real, len(x.sent[1]))
			}
			x.breaks(0)
		})
	}
}

// Sound without a form where there is silence for sound that has stayed away, at each distance from
// what was filled.
func TestSoundWithoutAFormAfterAPause(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	mp3 := au.NewPlainConfig(flv.CodecMP3, 44100, 2)
	for behind := uint32(0); behind < 60; behind += 3 { // a frame takes 26 ms
		x := newLine(t, video, audio, func(l *limits) { l.segments = 50 })
		for _, u := range made(0, 12_000, 40, 25, video, audio) {
			if !u.Video && u.Time >= 4_000 {
				if u.Time < 8_000 {
					continue
				}
				u.Time, u.Codec, u.Config = u.Time-behind, mp3.Codec, mp3
			}
			x.put(u)
		}
		if !x.cutter.finish() {
			t.Fatal("no memory")
		}
		x.look()
		x.silent(0, 11_800)
		x.breaks(0)
	}
}

// Silence has as many samples as the pictures have time, after ten minutes too, for each kind of
// sound that players know.
func TestSilenceKeepsToThePictures(t *testing.T) {
	units, _ := clip(t)
	video, _ := configsOf(units)
	kinds := map[string]*au.Config{"Opus": au.NewOpusConfig(2), "FLAC": flacConfig(t, 48000, 2, 16, 4608), "FLAC of 24 bits": flacConfig(t, 96000, 6, 24, 0)}
	for what, record := range map[string][]byte{
		"mono": {0x12, 0x08}, "22.05 kHz": {0x13, 0x90}, "48 kHz, 960 samples": {0x11, 0x94}, "5.1": {0x11, 0xb0}, "7.1": {0x11, 0xb8},
		"HE-AAC": {0x2b, 0x92, 0x08, 0x00}, "HE-AAC, version 2": {0xeb, 0x8a, 0x08, 0x00},
	} {
		var err error
		if kinds[what], err = au.NewAACConfig(record); err != nil {
			t.Fatal(err)
		}
	}
	for what, audio := range kinds {
		t.Run(what, func(t *testing.T) {
			x := newLine(t, video, audio, nil)
			const length = 200_000
			for i, u := range made(0, length, 40, 25, video, nil) {
				if !x.cutter.put(&u) {
					t.Fatal("no memory")
				}
				if i%25 == 0 {
					x.look()
				}
			}
			if !x.cutter.finish() {
				t.Fatal("no memory")
			}
			x.look()
			x.breaks(0)
			sounds := x.seen[1]
			frame := float64(audio.Samples(silence(audio))) * 1000 / float64(audio.Rate)
			if n := float64(len(sounds)) * frame; n < length-2*frame || n > length+2*frame {
				t.Errorf("%d frames of silence, %.0f ms", len(sounds), n)
			}
			for i, one := range sounds {
				if want := float64(i) * frame; one.at < want-0.1 || one.at > want+0.1 || one.data != string(silence(audio)) {
					t.Fatalf("frame %d at %.2f ms, want %.2f", i, one.at, want)
				}
			}
		})
	}
}

// All sound that HLS carries has silence: it never needs to be taken for gone.
func TestSoundThatIsCarriedHasSilence(t *testing.T) {
	type sound struct {
		c    *au.Config
		form bool
	}
	var all []sound
	for kind := 1; kind < 32; kind++ { // of AAC (ISO/IEC 14496-3, table 1.17)
		for channels := range 16 {
			record := []byte{byte(kind<<3 | 3), byte(channels << 3), 0, 0}
			if kind == 5 || kind == 29 {
				record[1] |= 1 // 48 kHz, over
				record[2] = 1<<7 | 2<<2
			}
			if c, err := au.NewAACConfig(record); err == nil {
				all = append(all, sound{c, (kind == 2 || kind == 5 || kind == 29) && channels > 0 && channels < 8})
			}
		}
	}
	spelled, err := au.NewAACConfig([]byte("\x11\x80\x04\xc8\x48\x00\x20\x00\xc4\x40\x00"))
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, sound{spelled, false}) // Chromium appends nothing of it, pictures neither
	for channels := range 9 {
		all = append(all, sound{&au.Config{Codec: flv.CodecOpus, Rate: 48_000, Channels: channels, Record: []byte{1}}, channels <= 2})
	}
	for _, one := range all {
		if got := hasForm(1, one.c); got != one.form || got && silence(one.c) == nil {
			t.Errorf("%v of %d channels, % x: form %v, silence % x", one.c.Codec, one.c.Channels, one.c.Record, got, silence(one.c))
		}
	}
}

// FuzzSilence puts pictures and sound that stays away, changes or comes at odd times, and checks
// the playlist now and then.
func FuzzSilence(f *testing.F) {
	f.Add(bytes.Repeat([]byte{8, 0, 0, 0, 0, 0, 4, 0}, 90))
	f.Add(slices.Concat(bytes.Repeat([]byte{8, 0, 4, 0, 4, 0}, 40), bytes.Repeat([]byte{0, 0}, 80), bytes.Repeat([]byte{8, 0, 7, 200, 4, 0}, 60)))
	f.Add(slices.Concat(bytes.Repeat([]byte{8, 0, 4, 0, 4, 0}, 40), bytes.Repeat([]byte{0, 0, 5, 0, 6, 0}, 80), []byte{8, 0}, bytes.Repeat([]byte{0, 0, 5, 0, 4, 3}, 60)))
	var once sync.Once
	var video, audio *au.Config
	f.Fuzz(func(t *testing.T, p []byte) {
		once.Do(func() {
			units, _ := clip(t)
			video, audio = configsOf(units)
		})
		other, err := au.NewAACConfig([]byte{0x13, 0xb0})
		if err != nil {
			t.Fatal(err)
		}
		x := newLine(t, video, audio, nil)
		var pictures, sounds uint32
		for n := 0; len(p) >= 2 && n < 500; n++ {
			op, by := p[0], uint32(p[1])
			p = p[2:]
			u := au.Unit{Codec: flv.CodecAAC, Config: audio, Key: true, Time: sounds, Parts: [][]byte{{byte(n), 7}}}
			switch op & 7 {
			case 4:
				sounds += 23 + by
			case 5:
				u.Config = other
				sounds += 46 + by
			case 6:
				u.Config, u.Codec = au.NewPlainConfig(flv.CodecMP3, 44100, 2), flv.CodecMP3
				sounds += 26 + by
			case 7:
				sounds = pictures + by*20 - min(pictures, 2500)
				continue
			default:
				u = au.Unit{Video: true, Codec: flv.CodecAVC, Config: video, Key: op&8 != 0, Time: pictures, Parts: [][]byte{{0x41, byte(n), 1}}}
				pictures += 40 + by
			}
			if !x.cutter.put(&u) {
				return
			}
			if n%16 == 0 {
				x.look()
			}
		}
	})
}

// The last picture before pictures are taken to be gone is there, and lasts until then: browsers go on up to the end of
// pictures, and some seconds longer.
func TestTheLastPictureBeforeSoundAlone(t *testing.T) {
	units, _ := clip(t)
	video, audio := configsOf(units)
	for _, low := range []bool{true, false} {
		x := newLine(t, video, audio, func(l *limits) { l.segments, l.low = 50, low })
		for _, u := range made(0, 20_000, 40, 25, video, audio) {
			if !u.Video || u.Time < 5_200 || u.Time >= 15_000 {
				x.put(u)
			}
		}
		if !x.cutter.finish() {
			t.Fatal("no memory")
		}
		x.look()
		if len(x.seen[0]) != len(x.sent[0]) {
			t.Errorf("low %v: %d pictures of %d", low, len(x.seen[0]), len(x.sent[0]))
		}
		x.breaks(2) // to sound alone, and back
	}
}
