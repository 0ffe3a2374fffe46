package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/sluice-go/sluice/flv"
)

const (
	// maxHeaders bounds the sequence headers that are kept for the next file,
	// one for each track.
	maxHeaders = 16
	// maxSpan is how many milliseconds a file may last, so that 32-bit times
	// cannot wrap: 24 days.
	maxSpan = 24 * 24 * 3600 * 1000
)

// take is the recording of one stream.
type take struct {
	recorder *Recorder
	stream   string
	log      *slog.Logger

	out      *output // nil between files
	metadata []byte  // the newest onMetaData, a tag's body
	headers  []header
	video    bool // the stream has video: files begin at a key frame
	resync   bool // frames were skipped: go on at a key frame
}

// header is a sequence header that a file begins with.
type header struct {
	kind  flv.TagType
	track uint8 // of several, in enhanced RTMP; 0 otherwise
	body  []byte
}

// run copies the stream until the source ends. The last file is closed then.
func (t *take) run(ctx context.Context, src Source) error {
	for {
		tags, dropped, err := src.Next(ctx)
		if err == nil {
			err = t.batch(tags, dropped)
			if err != nil {
				return errors.Join(err, t.end("writing failed"))
			}
			continue
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
		t.resync = t.video
	}
	if bytes.HasPrefix(tags, []byte("FLV")) {
		_, n, err := flv.ParseHeader(tags)
		if err != nil {
			return err
		}
		// Files have their own header. The size of the tag before, 0, follows it.
		tags = tags[min(n+flv.PrevTagSizeLen, len(tags)):]
	}
	for len(tags) > 0 {
		h, err := flv.ParseTagHeader(tags)
		if err != nil {
			return err
		}
		n := flv.TagHeaderLen + h.Size + flv.PrevTagSizeLen
		if n > len(tags) {
			return fmt.Errorf("a tag of %d bytes in %d: %w", n, len(tags), io.ErrUnexpectedEOF)
		}
		if err := t.tag(h, tags[flv.TagHeaderLen:flv.TagHeaderLen+h.Size]); err != nil {
			return err
		}
		tags = tags[n:]
	}
	if t.out == nil {
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
			if t.out == nil {
				t.metadata = append(t.metadata[:0], body...)
				return nil
			}
			if bytes.Equal(t.metadata, body) {
				return nil // the source repeats it after a gap
			}
			t.metadata = append(t.metadata[:0], body...)
		}
	case flv.TagVideo:
		t.video = true
		v, err := flv.ParseVideo(body)
		if err == nil && v.Config() {
			return t.header(h, v.Track, body)
		}
		starts = err == nil && v.Key()
	case flv.TagAudio:
		a, err := flv.ParseAudio(body)
		if err == nil && a.Config() {
			return t.header(h, a.Track, body)
		}
		starts = !t.video
	default:
		return nil // no tag type that players know
	}
	if t.resync && !starts {
		t.recorder.dropped.Add(1)
		return nil
	}
	t.resync = false
	if starts && t.out != nil && t.out.span(h.Time) > maxSpan {
		if err := t.end("it is long enough"); err != nil {
			return err
		}
	}
	if t.out == nil {
		if !starts {
			return nil
		}
		if err := t.begin(h.Time); err != nil {
			return err
		}
	}
	if starts && h.Type == flv.TagVideo {
		t.out.key(h.Time)
	}
	return t.out.tag(h, body)
}

// header handles a sequence header. When it replaces a different one, the file
// ends.
func (t *take) header(h flv.TagHeader, track uint8, body []byte) error {
	for i := range t.headers {
		old := &t.headers[i]
		if old.kind != h.Type || old.track != track {
			continue
		}
		if bytes.Equal(old.body, body) {
			return nil
		}
		old.body = bytes.Clone(body)
		return t.end("a sequence header changed")
	}
	if len(t.headers) == maxHeaders {
		return fmt.Errorf("sequence headers of more than %d tracks", maxHeaders)
	}
	t.headers = append(t.headers, header{kind: h.Type, track: track, body: bytes.Clone(body)})
	if t.out == nil {
		return nil
	}
	return t.out.tag(h, body) // a new one: for example audio began later than video
}

// begin begins a file whose first frame has this time.
func (t *take) begin(first uint32) error {
	name, f, err := createNew(t.stream, t.recorder.now(), t.recorder.create)
	if err != nil {
		return err
	}
	t.out = newOutput(t.recorder, name, f, first)
	t.recorder.files.Add(1)
	t.log.Info("recording", "file", name)
	if f := t.recorder.options.Began; f != nil {
		f(t.stream, name)
	}
	t.out.begin(t.headers)
	t.out.metadata(t.metadata, t.recorder.options.Index)
	for _, h := range t.headers {
		t.out.append(h.kind, 0, h.body)
	}
	return nil
}

// end ends the file, if there is one.
func (t *take) end(reason string) error {
	if t.out == nil {
		return nil
	}
	o := t.out
	t.out = nil
	err := o.close()
	t.log.Info("recorded", "file", o.name, "bytes", o.size, "ms", o.last, "why", reason)
	if f := t.recorder.options.Ended; f != nil {
		f(t.stream, o.name, o.size, time.Duration(o.last)*time.Millisecond, reason)
	}
	return err
}

// isMetadata reports whether script data is onMetaData: a string marker, the
// length and the name (AMF0, section 2.4).
func isMetadata(p []byte) bool {
	return bytes.HasPrefix(p, []byte("\x02\x00\x0aonMetaData"))
}
