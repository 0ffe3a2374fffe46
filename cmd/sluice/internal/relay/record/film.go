package record

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
	"github.com/sluice-go/sluice/flv"
)

const (
	// fragmentTime is how long a fragment is at the most, apart from the pictures'
	// distance: what a killed server loses.
	fragmentTime = time.Second
	// fragmentWait is how long the first fragment waits for a second track.
	fragmentWait = 2 * time.Second
	// fragmentBytes ends a fragment too: it is in memory until then.
	fragmentBytes = 4 << 20
	// firstBytes is the same while the first fragment waits: a picture may have more than
	// the others.
	firstBytes = 32 << 20
)

// film is an MP4 file that is being written. Its fragment is collected in memory and
// written at once; the file itself begins with its first fragment, which says what
// tracks there are.
type film struct {
	file     // the zero value before the first fragment
	tracks   [2]*reel
	late     bool          // sound has come that the header has no track for, or another one
	zero     time.Duration // the file's 0, once it has begun
	sequence uint32
	header   []byte        // of the file, until it is written with the first fragment
	length   time.Duration // of what is in it
	wall     time.Time     // of the latest fragment
	mehd     int64         // where the file has its duration

	keyAt     int64         // size before the fragment of the newest key frame; 0: none begins there
	keyLength time.Duration // length then
}

// reel is what one track has in the fragment.
type reel struct {
	track    mp4.Track
	config   *au.Config
	samples  []mp4.Sample
	data     []byte
	base     int64  // when the first sample is decoded, ticks
	last     int64  // the last one
	next     int64  // and the one after it, as far as its length says
	duration uint32 // of the latest sample that was known
	begun    bool
}

func place(video bool) int {
	if video {
		return 0
	}
	return 1
}

// changed reports whether a unit needs another file. Sound that came later than the header
// gets one with the next key frame: pictures up to it would be lost otherwise.
func (o *film) changed(u *au.Unit) bool {
	r := o.tracks[place(u.Video)]
	switch {
	case u.Video && u.Key && o.late:
		return true
	case r != nil:
		return u.Config != nil && !(r.config.Equal(u.Config) && r.track.Fits(u))
	}
	return o.f != nil && u.Video && u.Key
}

// outdated reports whether a key frame needs another file, because sound has the configuration c by a sequence header
// of which no frame has come: with the next key frame, sound up to that would be lost.
func (o *film) outdated(u *au.Unit, c *au.Config) bool {
	r := o.tracks[place(false)]
	return u.Video && u.Key && r != nil && c != nil && !r.config.Equal(c)
}

// bytes returns the fragment's.
func (o *film) bytes() (n int) {
	for _, r := range o.tracks {
		if r != nil {
			n += len(r.data)
		}
	}
	return n
}

// due reports whether the fragment ends before u, which has the time now. expected is
// how many tracks the stream has.
func (o *film) due(u *au.Unit, now time.Duration, expected int) bool {
	n, samples := 0, 0
	for _, r := range o.tracks {
		if r != nil && len(r.samples) > 0 {
			n, samples = n+1, samples+len(r.samples)
		}
	}
	// Sound may be seconds before or behind pictures, so that a length is that of one track.
	length := time.Duration(0)
	if r := o.tracks[place(u.Video)]; r != nil && len(r.samples) > 0 {
		length = now - r.time(r.base)
	}
	switch {
	case n == 0:
		return false
	case samples >= mp4.MaxSamples:
		return true
	case o.f == nil && n < expected && length < fragmentWait && o.bytes() < firstBytes:
		return false
	case o.bytes() >= fragmentBytes:
		return true
	case u.Video:
		return u.Key || length >= fragmentTime
	}
	// Sound ends a fragment only where no picture will: then all durations are known.
	return length >= fragmentTime && o.tracks[0] == nil || length >= 2*fragmentTime
}

// add adds a unit, borrowed until it returns. An error matches one of package mp4's.
func (o *film) add(u *au.Unit, now time.Duration) error {
	r := o.tracks[place(u.Video)]
	if r == nil {
		if u.Video && !u.Key {
			return nil
		}
		if o.f != nil {
			o.late = true
			return nil
		}
		t, err := mp4.NewTrack(uint32(place(u.Video)+1), u)
		if err != nil {
			return err
		}
		r = &reel{track: t, config: u.Config}
		o.tracks[place(u.Video)] = r
	}
	r.add(u, now)
	return nil
}

func ticks(d time.Duration, scale uint32) int64 {
	ms := int64(d / time.Millisecond) // streams have no more
	return ms * int64(scale) / 1000
}

// slack is by how much the times of sound may differ from the samples that were counted:
// they are rounded to milliseconds, and some encoders' jitter.
const slack = 30 * time.Millisecond

func (r *reel) add(u *au.Unit, now time.Duration) {
	scale := r.track.Scale
	at := ticks(now, scale)
	samples := 0
	if !u.Video {
		samples = u.Config.Samples(u.Parts[0])
		if d := at - r.next; r.begun && samples > 0 && max(d, -d) <= ticks(slack, scale) {
			at = r.next
		}
	}
	if r.begun {
		at = max(at, r.last+1) // each sample its own: a publisher that comes back may begin a little before its end
	}
	if n := len(r.samples); n > 0 {
		r.close(at)
	} else {
		r.base = at
	}
	before := len(r.data)
	switch u.Codec {
	case flv.CodecAVC, flv.CodecHEVC:
		r.data = au.AppendLengths(r.data, u.Parts)
	default:
		for _, p := range u.Parts {
			r.data = append(r.data, p...)
		}
	}
	r.samples = append(r.samples, mp4.Sample{
		Size: uint32(len(r.data) - before), Offset: int32(ticks(time.Duration(u.Offset)*time.Millisecond, scale)), Key: u.Key,
	})
	r.begun, r.last, r.next = true, at, at+int64(samples)
	if samples == 0 {
		r.next += int64(r.duration)
	}
}

// close gives the last sample its duration: until next.
func (r *reel) close(next int64) {
	r.duration = uint32(min(next-r.last, math.MaxUint32))
	r.samples[len(r.samples)-1].Duration = r.duration
}

// close ends the fragment before next, nil at the end, which has the time now.
func (o *film) close(next *au.Unit, now time.Duration) {
	for i, r := range o.tracks {
		switch {
		case r == nil || len(r.samples) == 0:
		case i == 0 && next != nil && next.Video:
			r.close(max(ticks(now, r.track.Scale), r.last+1))
		case r.next > r.last:
			r.close(r.next)
		default:
			r.close(r.last + int64(r.track.Scale/25))
		}
	}
}

// begin makes the file's header. The first sample of all is its 0.
func (o *film) begin() error {
	var tracks []mp4.Track
	first := true
	for _, r := range o.tracks {
		if r == nil || len(r.samples) == 0 {
			continue
		}
		tracks = append(tracks, r.track)
		if at := r.time(r.base); first || at < o.zero {
			o.zero, first = at, false
		}
	}
	header, at, err := mp4.Header(tracks)
	if err != nil {
		return o.fail(err)
	}
	o.header, o.mehd = header, int64(at)
	return nil
}

// time is when a tick is, to the millisecond below.
func (r *reel) time(at int64) time.Duration {
	return time.Duration(at*1000/int64(r.track.Scale)) * time.Millisecond
}

// fragment writes the fragment, whose units are all closed. zero is the time of day at 0.
func (o *film) fragment(zero time.Time) error {
	var runs []mp4.Run
	var parts [][]byte
	from, length := time.Duration(0), o.length
	for _, r := range o.tracks {
		if r == nil || len(r.samples) == 0 {
			continue
		}
		if len(runs) == 0 {
			from = r.time(r.base)
		}
		runs = append(runs, mp4.Run{Track: r.track.ID, Base: uint64(max(r.base-ticks(o.zero, r.track.Scale), 0)), Samples: r.samples})
		parts = append(parts, r.data)
		last := r.last + int64(r.samples[len(r.samples)-1].Duration)
		length = max(length, r.time(last)-o.zero)
	}
	if len(runs) == 0 {
		return nil
	}
	wall := zero.Add(from)
	if !wall.After(o.wall) {
		wall = o.wall.Add(time.Millisecond) // a fragment is found by its time
	}
	o.wall = wall
	o.sequence++
	if err := o.put(append([][]byte{o.header, mp4.AppendFragment(nil, o.sequence, wall, runs)}, parts...)...); err != nil {
		return err
	}
	o.header, o.length = nil, length
	for _, r := range o.tracks {
		if r == nil {
			continue
		}
		r.samples, r.data = r.samples[:0], r.data[:0]
		if cap(r.data) > keepAt {
			r.data = nil
		}
	}
	return o.sync()
}

// put writes parts that belong together, or nothing of them.
func (o *film) put(parts ...[]byte) error {
	if o.err != nil {
		return o.err
	}
	done := 0
	for _, p := range parts {
		if len(p) == 0 {
			continue
		}
		n, err := o.write(p)
		done += n
		if err != nil {
			if done > 0 {
				err = errors.Join(err, o.f.Truncate(o.size))
			}
			return o.fail(err)
		}
	}
	o.grow(done)
	return nil
}

// cut takes the newest key frame, and what follows it, out of the file, if a fragment
// begins with it that is not the first.
func (o *film) cut() error {
	if o.keyAt == 0 || o.err != nil {
		return nil
	}
	for _, r := range o.tracks {
		if r != nil {
			r.samples, r.data = nil, nil
		}
	}
	if err := o.f.Truncate(o.keyAt); err != nil {
		return o.fail(err)
	}
	o.size, o.length = o.keyAt, o.keyLength
	return nil
}

// end closes the file, and writes into it how long it is. It returns only an error that
// no earlier call has returned.
func (o *film) end() (err error) {
	if o.size > 0 {
		_, err = o.f.WriteAt(mp4.PutDuration(o.length), o.mehd)
	}
	if err == nil && o.err == nil && o.recorder.options.Sync > 0 {
		err = o.f.Sync()
	}
	err = errors.Join(err, o.f.Close())
	if o.err != nil || err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", o.name, err)
}
