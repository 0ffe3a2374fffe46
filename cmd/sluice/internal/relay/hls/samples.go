package hls

import (
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// guess is the duration in ms of a last picture of which nothing else is known.
const guess = 40

// A track collects the samples of the open part. Times of the stream are ms, those of
// samples ticks.
type track struct {
	video  bool
	config *au.Config
	scale  int64

	samples []sample
	data    []byte
	begun   bool // a sample has come since the beginning or a discontinuity
	heard   bool // latest is set
	said    bool // a sample has come in this segment
	missing int  // segments without one
	inBand  bool // key frames have their parameter sets

	latest    int64 // time of the latest unit, without wrapping
	pending   bool  // the duration of the last sample is not known
	pendingAt int64
	frame     int64 // duration of the latest picture
	next      int64 // when sound goes on, ticks
}

func newTrack(kind int, c *au.Config) *track {
	return &track{video: kind == 0, config: c, scale: scaleOf(kind == 0, c)}
}

// adopt takes another configuration, after the open segment has ended if it differs. From then on key
// frames have it too: ffmpeg and what is built on it pass over every initialization but the first.
func (t *track) adopt(c *au.Config) {
	t.inBand = t.inBand || !t.config.Equal(c)
	t.config = c
	if scale := scaleOf(t.video, c); scale != t.scale {
		t.scale = scale
		t.reset()
	}
}

// append copies a unit's parts to the data, and returns their size. A key frame gets the parameter
// sets too, if they have changed and it has none.
func (t *track) append(u *au.Unit) int {
	before := len(t.data)
	switch u.Codec {
	case flv.CodecAVC, flv.CodecHEVC:
		parts := u.Parts
		if t.inBand && u.Key && !slices.ContainsFunc(parts, func(p []byte) bool { return au.IsSet(u.Codec, p) }) {
			if len(parts) > 0 && au.IsDelimiter(u.Codec, parts[0]) {
				t.data, parts = au.AppendLengths(t.data, parts[:1]), parts[1:]
			}
			t.data = au.AppendLengths(t.data, t.config.Sets)
		}
		t.data = au.AppendLengths(t.data, parts)
	default:
		for _, p := range u.Parts {
			t.data = append(t.data, p...)
		}
	}
	t.begun, t.said = true, true
	return len(t.data) - before
}

// hold takes a picture. Its duration is known when the next one comes.
func (t *track) hold(u *au.Unit, at int64) {
	size := t.append(u)
	t.samples = append(t.samples, sample{at: at * t.scale / 1000, offset: int32(int64(u.Offset) * t.scale / 1000), size: size, key: u.Key})
	t.pending, t.pendingAt = true, at
}

// settle sets the duration of the picture before the one at a time.
func (t *track) settle(at int64) {
	if !t.pending {
		return
	}
	s := &t.samples[len(t.samples)-1]
	s.duration = uint32((at - t.pendingAt) * t.scale / 1000)
	if at > t.pendingAt {
		t.frame = at - t.pendingAt
	}
	t.pending = false
}

// sound takes a frame of sound. While the stream's times, which are rounded to ms, agree
// with the count of samples, that says when it is.
func (t *track) sound(u *au.Unit, at int64) {
	exact := at * t.scale / 1000
	if slack := t.scale/1000 + 1; t.begun && exact >= t.next-slack && exact <= t.next+slack {
		exact = t.next
	}
	if n := len(t.samples); n > 0 {
		last := &t.samples[n-1]
		exact = max(exact, last.at)
		last.duration = uint32(exact - last.at)
	}
	duration := int64(t.config.Samples(u.Parts[0]))
	size := t.append(u)
	t.samples = append(t.samples, sample{at: exact, duration: uint32(duration), size: size, key: true})
	t.next = exact + duration
}

// usual is the duration of a frame of sound in ms.
func (t *track) usual(u *au.Unit) int64 { return t.config.Duration(u.Parts[0]).Milliseconds() }

// complete returns the number of samples whose duration is known.
func (t *track) complete() int {
	if t.pending {
		return len(t.samples) - 1
	}
	return len(t.samples)
}

// before returns how many complete samples begin before a time.
func (t *track) before(at int64) int {
	n, end := t.complete(), at*t.scale/1000
	for n > 0 && t.samples[n-1].at >= end {
		n--
	}
	return n
}

// run returns the first n samples, which are complete, borrowed until sent.
func (t *track) run(number, n int) run {
	size := 0
	for _, s := range t.samples[:n] {
		size += s.size
	}
	return run{number, t.samples[:n], t.data[:size]}
}

// keepData is how much memory an empty track keeps, in bytes.
const keepData = 1 << 20

// sent removes the first n samples.
func (t *track) sent(n int) {
	r := t.run(0, n)
	rest := t.data[len(r.data):]
	if cap(t.data) > keepData && len(rest) < keepData/2 {
		t.data = append([]byte(nil), rest...)
	} else {
		t.data = append(t.data[:0], rest...)
	}
	t.samples = append(t.samples[:0], t.samples[len(r.samples):]...)
}

// flush gives the last picture a duration, and returns where the track ends, in ms.
func (t *track) flush() int64 {
	if t.pending {
		usual := t.frame
		if usual == 0 {
			usual = guess
		}
		t.settle(t.pendingAt + usual)
		return t.pendingAt + usual
	}
	if !t.video && t.begun && len(t.samples) > 0 {
		return t.next * 1000 / t.scale
	}
	return 0
}

// reset forgets what a discontinuity ends. The samples have been sent.
func (t *track) reset() {
	t.samples, t.data = t.samples[:0], t.data[:0]
	t.begun, t.heard, t.pending, t.pendingAt, t.next = false, false, false, 0, 0
}
