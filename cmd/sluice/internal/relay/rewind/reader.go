package rewind

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

const (
	// batchBytes and batchTime end what is returned at once.
	batchBytes = 64 << 10
	batchTime  = 100 * time.Millisecond
	// window is how much of a track is read at once.
	window = 32 << 10
	// maxSample bounds a picture: FLV's tags have no more.
	maxSample = 16<<20 - 64
	// soon is within which time of the beginning a track of the next file has to come, so that the header
	// of FLV names it: players wait that long for a track that it names.
	soon = 5 * time.Second
	// maxGap is what is left in the times of a gap between files: it is closed up.
	maxGap = time.Second
)

// A Reader reads tags of FLV. Their times begin at 0 and never fall within a track: one of them may
// come behind the other, and then it does so at each end of a fragment.
type Reader struct {
	tape   *archive.Tape
	joiner au.Joiner
	film   *archive.Film
	tracks map[uint32]mp4.TrackConfig // of the film; pictures and sound, at most one of each

	runs  []*run // what is left of the fragment
	begun bool
	from  time.Time        // of the first fragment
	wall  time.Time        // of the end of the latest one
	shift time.Duration    // from times of the film to those of the tags
	last  time.Duration    // the latest of the tags' times
	media [2]time.Duration // of sound and of pictures: that of the newest tag
	end   time.Duration    // of the latest fragment, as a tag's
	out   []byte
}

// run is what is left of a track in a fragment.
type run struct {
	track   mp4.TrackConfig
	ticks   uint64 // when the next sample is decoded
	samples []mp4.Sample
	data    *bufio.Reader
}

// NewReader returns a reader of a tape, which stays the caller's.
func NewReader(t *archive.Tape) *Reader { return &Reader{tape: t} }

// From returns when what was read first was recorded.
func (r *Reader) From() time.Time { return r.from }

// Next returns some tags, before the first the header of FLV, borrowed until the next
// call, and the latest time so far. The error is archive.ErrNothingYet at the end;
// others are of the file, whose fragment is left out.
func (r *Reader) Next() (tags []byte, at time.Duration, err error) {
	if cap(r.out) > 4*batchBytes {
		r.out = nil
	}
	r.out = r.out[:0]
	for len(r.runs) == 0 {
		if err := r.fragment(); err != nil {
			return nil, r.last, err
		}
	}
	for first := r.last; len(r.runs) > 0 && len(r.out) < batchBytes && r.last-first < batchTime; {
		if err := r.sample(); err != nil {
			r.runs = nil
			return r.out, r.last, err
		}
	}
	return r.out, r.last, nil
}

// fragment takes the next one.
func (r *Reader) fragment() error {
	film, one, err := r.tape.Next()
	if err != nil {
		return err
	}
	runs, err := film.Index.Runs(film, one)
	if err != nil {
		return fmt.Errorf("%s: %w", film.File, err)
	}
	if film != r.film {
		if err := r.begin(film, one); err != nil {
			return fmt.Errorf("%s: %w", film.File, err)
		}
	}
	r.wall, r.end = one.Wall.Add(one.Length), one.Start+one.Length+r.shift
	at := one.At + int64(one.Head)
	for i := range runs {
		n := runs[i].Bytes()
		if t, ok := r.tracks[runs[i].Track]; ok && len(runs[i].Samples) > 0 {
			data := bufio.NewReaderSize(io.NewSectionReader(film, at, n), int(min(window, n)))
			r.runs = append(r.runs, &run{t, runs[i].Base, runs[i].Samples, data})
		}
		at += n
	}
	return nil
}

// begin begins a film, whose first fragment is one.
func (r *Reader) begin(film *archive.Film, one mp4.Fragment) error {
	list, err := mp4.Configs(film.Header)
	if err != nil {
		return err
	}
	r.film, r.tracks = film, map[uint32]mp4.TrackConfig{}
	r.shift = (r.end + min(max(one.Wall.Sub(r.wall), 0), maxGap) - one.Start).Truncate(time.Millisecond)
	header := flv.Header{}
	for _, t := range list {
		header.Video, header.Audio = header.Video || t.Video, header.Audio || !t.Video
		r.tracks[t.ID] = t
	}
	if !r.begun {
		r.begun, r.from, r.shift = true, one.Wall, -one.Start
		if header.Video != header.Audio {
			list = append(list, r.later(&header, one.Wall.Add(soon))...)
		}
		r.out = append(header.Append(r.out), 0, 0, 0, 0)
	}
	for _, t := range list {
		if err := r.header(t.Config); err != nil {
			return err
		}
	}
	return nil
}

// later returns the track of a kind that the file does not have, if the next one begins with it before a time, and
// names it in the header: players take no track that comes later and is not named there.
func (r *Reader) later(header *flv.Header, before time.Time) []mp4.TrackConfig {
	next, err := mp4.Configs(r.tape.Soon(before))
	if err != nil {
		return nil // it is read when it is its turn
	}
	next = slices.DeleteFunc(next, func(t mp4.TrackConfig) bool { return t.Video == header.Video })
	if len(next) > 0 {
		header.Video, header.Audio = true, true
	}
	return next
}

// header appends a sequence header, if it is another one than before.
func (r *Reader) header(c *au.Config) error {
	if f, ok := r.joiner.Header(c, 0); ok {
		r.tag(f.Type, 0, f.Payload.Bytes())
		f.Payload.Release()
	}
	return nil
}

// sample appends the sample that is decoded next.
func (r *Reader) sample() error {
	next := 0
	for i, o := range r.runs {
		if o.time() < r.runs[next].time() {
			next = i
		}
	}
	o := r.runs[next]
	s := o.samples[0]
	at := o.time() + r.shift
	offset := time.Duration(s.Offset) * time.Second / time.Duration(o.track.Scale)
	if o.samples = o.samples[1:]; len(o.samples) == 0 {
		r.runs = append(r.runs[:next], r.runs[next+1:]...)
	}
	o.ticks += uint64(s.Duration)
	if s.Size > maxSample {
		return fmt.Errorf("%w: a sample of %d bytes", mp4.ErrSyntax, s.Size)
	}
	packed := make([]byte, au.Room+int(s.Size))
	if _, err := io.ReadFull(o.data, packed[au.Room:]); err != nil {
		return fmt.Errorf("%s: %w", r.film.File, err)
	}
	if !o.track.Video && at <= -time.Millisecond {
		return nil // sound before the picture that it begins with
	}
	u := au.Unit{Video: o.track.Video, Codec: o.track.Config.Codec, Offset: int32(offset.Round(time.Millisecond) / time.Millisecond), Key: s.Key, Config: o.track.Config}
	if u.Codec == flv.CodecVP9 && u.Key {
		if c, ok := au.VP9Key(packed[au.Room:]); ok {
			if err := r.header(c); err != nil {
				return err
			}
		}
	}
	f, err := r.joiner.Frame(&u, mem.Wrap(packed, nil))
	if err != nil {
		return nil // a player would leave it out, too
	}
	r.tag(f.Type, at, f.Payload.Bytes())
	f.Payload.Release()
	return nil
}

// time is when the next sample is decoded, in the film, to the millisecond that it had in
// the stream.
func (o *run) time() time.Duration {
	ms := (o.ticks*1000 + uint64(o.track.Scale)/2) / uint64(o.track.Scale)
	return time.Duration(ms) * time.Millisecond
}

// tag appends a tag with this time, or its track's newest one if that is later.
func (r *Reader) tag(kind flv.TagType, at time.Duration, body []byte) {
	media := &r.media[0]
	if kind == flv.TagVideo {
		media = &r.media[1]
	}
	*media = max(*media, at)
	r.last = max(r.last, *media)
	r.out = flv.TagHeader{Type: kind, Size: len(body), Time: uint32(*media / time.Millisecond)}.Append(r.out)
	r.out = append(r.out, body...)
	n := flv.TagHeaderLen + len(body)
	r.out = append(r.out, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// Live continues with tags of the stream as it is, which a live.Reader returned, borrowed
// until the next call. The first ones follow what was read last.
func (r *Reader) Live(tags []byte) ([]byte, time.Duration) {
	r.out = r.out[:0]
	for t := range au.Tags(tags) {
		r.follow(t)
	}
	return r.out, r.last
}

// follow appends a tag of the stream.
func (r *Reader) follow(t au.Tag) {
	at := time.Duration(t.Time) * time.Millisecond
	if r.film != nil { // the first
		r.film, r.runs = nil, nil
		r.shift = max(r.end, r.last) - at
	}
	r.tag(t.Type, at+r.shift, t.Body)
}
