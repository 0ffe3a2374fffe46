package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/flv"
)

const (
	// maxHeaders bounds the sequence headers that are kept for the next file,
	// one for each track.
	maxHeaders = 16
	// maxHeaderBytes and maxMetadata bound what those and the metadata take: they are copies that count for
	// no limit.
	maxHeaderBytes = 512 << 10
	maxMetadata    = maxHeaderBytes / 2
)

// take is the recording of one stream.
type take struct {
	recorder *Recorder
	stream   string
	log      *slog.Logger

	out      *output // nil between files
	metadata []byte  // the newest onMetaData, a tag's body
	headers  []header
	sound    flv.FourCC // the codec of the first track of sound; 0: there was none
	opening  opening
	pace     pace
	late     bool   // the file began with sound: headers of video come with the first picture
	changed  string // why the file ends where the next one can begin: its sound is left out until then; "": it goes on
	resync   bool   // frames were skipped: go on at an opening
	bare     bool   // pictures without a sequence header have come
}

// run copies the stream until the source ends. The last file is closed then.
func (t *take) run(ctx context.Context, src Source) error {
	for {
		tags, dropped, err := src.Next(ctx)
		if err == nil {
			err = contain.Run(t.log, func() error { return t.batch(tags, dropped) })
			if err != nil {
				return errors.Join(err, t.end("writing failed"))
			}
			continue
		}
		if isContinued(src, err) && t.out != nil {
			return errors.Join(t.out.cut(), t.end(continued))
		}
		reason := "the stream ended"
		if !errors.Is(err, io.EOF) {
			reason = err.Error()
		}
		return t.end(reason)
	}
}

// batch writes whole tags, borrowed until it returns.
func (t *take) batch(tags []byte, dropped int) error {
	if dropped > 0 {
		t.recorder.dropped.Add(int64(dropped))
		t.log.Warn("the disk is too slow: frames are missing from the recording", "frames", dropped)
		t.resync = t.opening.video
	}
	if err := eachTag(tags, t.tag); err != nil {
		return err
	}
	if t.out == nil || t.out.origin.waits {
		return nil
	}
	return t.out.flush()
}

// tag writes one tag, or keeps it for the next file.
func (t *take) tag(h flv.TagHeader, body []byte) error {
	starts := false // a file can begin with this one
	switch h.Type {
	case flv.TagScript:
		if isMetadata(body) {
			// A file has that which it began with: ffmpeg takes metadata at a later time for a track of
			// subtitles, and cannot copy the file into MP4.
			if len(body) <= maxMetadata {
				t.metadata = append(t.metadata[:0], body...)
			} else {
				t.metadata = nil
			}
			return nil
		}
	case flv.TagVideo:
		t.opening.video = true
		v, err := flv.ParseVideo(body)
		if err == nil && v.Config() {
			return t.header(h, v.Track, body)
		}
		if err == nil && t.headless(v) {
			return nil
		}
		starts = t.opening.picture(err == nil && v.Key())
	case flv.TagAudio:
		a, err := flv.ParseAudio(body)
		if err == nil && a.Track == 0 {
			if err := t.soundIs(a.Codec); err != nil {
				return err
			}
		}
		if err == nil && a.Config() {
			return t.header(h, a.Track, body)
		}
		starts = t.opening.sound(h.Time)
	default:
		return nil // no tag type that players know
	}
	return t.frame(h, body, starts)
}

// headless reports whether a picture cannot be decoded because its track's sequence header has not come. They are
// left out: players take a file that begins with one for broken.
func (t *take) headless(v flv.VideoHeader) bool {
	if v.Codec != flv.CodecAVC && v.Codec != flv.CodecHEVC {
		return false
	}
	if slices.ContainsFunc(t.headers, func(h header) bool { return h.kind == flv.TagVideo && h.track == v.Track }) {
		return false
	}
	t.opening.blind = t.opening.blind || v.Track == 0 // the file may have begun with sound
	if !t.bare {
		t.bare = true
		t.log.Warn("pictures before their sequence header are left out of the recording", "codec", v.Codec)
	}
	return true
}

// frame writes a frame, with which a file can begin or not.
func (t *take) frame(h flv.TagHeader, body []byte, starts bool) error {
	picture := h.Type == flv.TagVideo
	if t.resync && !starts {
		t.recorder.dropped.Add(1)
		return nil
	}
	if t.resync {
		t.opening.begin(picture)
	}
	t.resync = false
	if t.changed != "" && starts {
		if err := t.end(t.changed); err != nil {
			return err
		}
	}
	if t.changed != "" && h.Type == flv.TagAudio {
		return nil
	}
	if starts && t.out != nil && t.opening.divides(picture) {
		if why := t.enough(h.Time); why != "" {
			if err := t.end(why); err != nil {
				return err
			}
		}
	}
	if t.out == nil {
		if !starts || !t.pace.allows(t.recorder.now(), t.log) {
			return nil
		}
		t.opening.begin(picture)
		if err := t.begin(h.Time); err != nil {
			return err
		}
	}
	if picture && t.opening.hidden(starts) {
		return nil
	}
	if picture {
		if err := t.lateHeaders(h); err != nil {
			return err
		}
	}
	t.out.origin.came(h)
	if starts && picture {
		t.out.key(h.Time)
	}
	return t.out.tag(h, body)
}

// enough returns why the file should end before a frame with which the next one can begin, ""
// when it should not.
func (t *take) enough(at uint32) string {
	o := t.out
	switch {
	case t.recorder.full(time.Duration(o.origin.span(at)) * time.Millisecond):
		return "it is long enough"
	case o.lost():
		return lost
	}
	return ""
}

// lateHeaders writes the sequence headers of video before the first picture, h, of a file
// that began with sound.
func (t *take) lateHeaders(h flv.TagHeader) error {
	if !t.late {
		return nil
	}
	t.late = false
	for _, old := range t.headers {
		if old.kind != flv.TagVideo {
			continue
		}
		if err := t.out.tag(flv.TagHeader{Type: old.kind, Time: h.Time}, old.body); err != nil {
			return err
		}
	}
	return nil
}

// soundIs takes the codec of sound: not each has a sequence header that says so. That of the
// codec before is forgotten.
func (t *take) soundIs(codec flv.FourCC) error {
	before := t.sound
	if t.sound = codec; before == 0 || before == codec {
		return nil
	}
	t.headers = slices.DeleteFunc(t.headers, func(h header) bool { return h.kind == flv.TagAudio && h.track == 0 })
	return t.soundChanged("the sound has another codec")
}

// soundChanged ends the file, for which why is the reason: where pictures come, at the next
// one that a file can begin with, because those before would be in none.
func (t *take) soundChanged(why string) error {
	if !t.opening.video || t.opening.blind {
		return t.end(why)
	}
	if t.out != nil {
		t.changed = why
	}
	return nil
}

// header handles a sequence header. When it replaces a different one, the file
// ends, at once or when the next one can begin.
func (t *take) header(h flv.TagHeader, track uint8, body []byte) error {
	for i := range t.headers {
		old := &t.headers[i]
		if old.kind != h.Type || old.track != track {
			continue
		}
		if bytes.Equal(old.body, body) {
			return nil
		}
		if t.headerBytes()-len(old.body)+len(body) > maxHeaderBytes {
			return errHeaderBytes
		}
		old.body = bytes.Clone(body)
		if t.late && h.Type == flv.TagVideo {
			return nil // the file does not have the old one
		}
		const why = "a sequence header changed"
		if h.Type == flv.TagAudio {
			return t.soundChanged(why)
		}
		return t.end(why)
	}
	if len(t.headers) == maxHeaders {
		return fmt.Errorf("sequence headers of more than %d tracks", maxHeaders)
	}
	if t.headerBytes()+len(body) > maxHeaderBytes {
		return errHeaderBytes
	}
	t.headers = append(t.headers, header{kind: h.Type, track: track, body: bytes.Clone(body)})
	if t.out == nil || t.late && h.Type == flv.TagVideo || t.changed != "" && h.Type == flv.TagAudio {
		return nil
	}
	return t.out.tag(h, body) // a new one: for example audio began later than video
}

// errHeaderBytes ends a recording that has kept what it may.
var errHeaderBytes = fmt.Errorf("sequence headers of more than %d bytes", maxHeaderBytes)

// headerBytes returns what the sequence headers take that are kept.
func (t *take) headerBytes() (n int) {
	for _, h := range t.headers {
		n += len(h.body)
	}
	return n
}

// begin begins a file whose first frame has this time.
func (t *take) begin(first uint32) error {
	f, err := t.recorder.begin(t.stream, t.log)
	if err != nil {
		return err
	}
	t.late = t.opening.blind
	headers := t.headers
	if t.late {
		headers = slices.DeleteFunc(slices.Clone(headers), func(h header) bool { return h.kind == flv.TagVideo })
	}
	t.out = newOutput(f, first, t.hasSound())
	t.out.begin(headers)
	t.out.metadata(t.metadata, t.recorder.options.Index)
	for _, h := range headers {
		t.out.append(h.kind, 0, h.body)
	}
	t.out.begun = len(t.out.buf)
	return nil
}

// hasSound reports whether the stream has sound, or its metadata says that some will come.
func (t *take) hasSound() bool {
	return t.sound != 0 || saysSound(t.metadata)
}

// saysSound reports whether metadata names a codec of sound.
func saysSound(metadata []byte) bool {
	_, ok := au.Said(metadata, "audiocodecid").Get("audiocodecid")
	return ok
}

// end ends the file, if there is one.
func (t *take) end(reason string) error {
	if t.out == nil {
		return nil
	}
	o := t.out
	t.out, t.late, t.changed = nil, false, ""
	err := o.close()
	t.recorder.ended(t.stream, o.name, o.size, time.Duration(o.last)*time.Millisecond, reason, t.log)
	return err
}

// isMetadata reports whether script data is onMetaData: a string marker, the
// length and the name (AMF0, section 2.4).
func isMetadata(p []byte) bool {
	return bytes.HasPrefix(p, []byte("\x02\x00\x0aonMetaData"))
}
