package record

import (
	"errors"
	"fmt"

	"github.com/sluice-go/sluice/flv"
)

const (
	// flushAt is how many bytes are collected for one write.
	flushAt = 256 << 10
	// flagsAt is the offset of the flags for audio and video in the file's
	// header.
	flagsAt = 4
)

// output is a file that is being written. Its buffer begins and ends between
// tags, and so does every write.
type output struct {
	file
	buf     []byte
	flags   flv.Header
	stale   bool   // the flags in the file lack a kind
	origin  origin // until it is settled, frames in buf have the stream's times
	begun   int    // where in buf the first of them is
	last    uint32 // milliseconds, of the newest frame
	written uint32 // the same of those in the file
	index   *index // nil: none

	keyAt   int64  // size before the newest key frame; 0: no frame is before it
	keyLast uint32 // last then
	frames  bool   // there are some
}

// newOutput returns an output into a file. sound says that there is some in the stream.
func newOutput(f file, first uint32, sound bool) *output {
	return &output{file: f, origin: origin{first: first, zero: first, waits: sound}}
}

// begin puts the file's header first. It names the kinds that there are
// sequence headers of: some players wait for each kind that is named.
func (o *output) begin(headers []header) {
	for _, h := range headers {
		o.flags.Video = o.flags.Video || h.kind == flv.TagVideo
		o.flags.Audio = o.flags.Audio || h.kind == flv.TagAudio
	}
	o.buf = o.flags.Append(o.buf)
	o.buf = append(o.buf, 0, 0, 0, 0) // the size of the tag before the first
}

// settle gives the frames that were collected their times in the file.
func (o *output) settle() {
	if o.origin.settled {
		return
	}
	o.origin.settled, o.origin.waits = true, false
	for at := o.begun; at < len(o.buf); {
		h, err := flv.ParseTagHeader(o.buf[at:])
		if err != nil {
			panic(fmt.Sprintf("record: a tag that was appended: %v", err))
		}
		if int64(at) == o.keyAt {
			o.keyLast = o.last
		}
		h.Time = o.origin.span(h.Time)
		o.last = max(o.last, h.Time)
		h.Append(o.buf[:at])
		at += flv.TagHeaderLen + h.Size + flv.PrevTagSizeLen
	}
	if o.index == nil {
		return
	}
	for i := range o.index.keys {
		o.index.keys[i].time = o.origin.span(o.index.keys[i].time)
	}
}

// tag adds a tag with its time in the file.
func (o *output) tag(h flv.TagHeader, body []byte) error {
	video := o.flags.Video || h.Type == flv.TagVideo
	audio := o.flags.Audio || h.Type == flv.TagAudio
	if video != o.flags.Video || audio != o.flags.Audio {
		o.flags.Video, o.flags.Audio = video, audio
		o.stale = true
	}
	at := h.Time
	if o.origin.settled {
		at = o.origin.span(at)
		o.last = max(o.last, at)
	}
	o.frames = true
	o.append(h.Type, at, body)
	if len(o.buf) < flushAt || o.origin.waits && len(o.buf) < waitMost {
		return nil
	}
	return o.flush()
}

func (o *output) append(kind flv.TagType, at uint32, body []byte) {
	o.buf = flv.TagHeader{Type: kind, Size: len(body), Time: at}.Append(o.buf)
	o.buf = append(o.buf, body...)
	n := flv.TagHeaderLen + len(body)
	o.buf = append(o.buf, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// flush writes the buffer, and syncs when the interval is over.
func (o *output) flush() error {
	if o.err != nil {
		return o.err
	}
	if len(o.buf) == 0 {
		return o.sync()
	}
	o.settle()
	if o.stale {
		if err := o.patchFlags(); err != nil {
			return o.fail(err)
		}
	}
	n, err := o.write(o.buf)
	if err != nil {
		whole := o.wholeTags(n)
		o.grow(whole)
		if whole != n {
			err = errors.Join(err, o.f.Truncate(o.size))
		}
		return o.fail(err)
	}
	o.grow(n)
	o.written = o.last
	o.buf = o.buf[:0]
	if cap(o.buf) > keepAt {
		o.buf = nil
	}
	return o.sync()
}

// patchFlags updates the flags for audio and video in the file's header, so that
// they match the tags in the file.
func (o *output) patchFlags() error {
	o.stale = false
	flags := o.flags.Append(nil)[flagsAt]
	if o.size == 0 {
		o.buf[flagsAt] = flags
		return nil
	}
	_, err := o.f.WriteAt([]byte{flags}, flagsAt)
	return err
}

// wholeTags returns how many of the first n bytes in the buffer, which are written, are whole
// tags, or the file's header.
func (o *output) wholeTags(n int) int {
	whole := 0
	if o.size == 0 {
		whole = flv.HeaderLen + flv.PrevTagSizeLen
	}
	if n < whole {
		return 0
	}
	for {
		h, err := flv.ParseTagHeader(o.buf[whole:n])
		if err != nil {
			return whole
		}
		next := whole + flv.TagHeaderLen + h.Size + flv.PrevTagSizeLen
		if next > n {
			return whole
		}
		whole, o.written = next, max(o.written, h.Time)
	}
}

// fail ends the writing: what waits for it is not in the file.
func (o *output) fail(err error) error {
	o.last = o.written
	return o.file.fail(err)
}

// metadata puts the stream's metadata, nil when there is none, behind the file's
// header.
func (o *output) metadata(p []byte, indexed bool) {
	if indexed {
		if o.index = newIndex(p, int64(len(o.buf)+flv.TagHeaderLen)); o.index != nil {
			p = o.index.begin()
		}
	}
	if p != nil {
		o.append(flv.TagScript, 0, p)
	}
}

// key records that the next tag is a key frame with the time at.
func (o *output) key(at uint32) {
	if o.frames {
		o.keyAt, o.keyLast = o.size+int64(len(o.buf)), o.last
	}
	if o.origin.settled {
		at = o.origin.span(at)
	}
	if o.index != nil {
		o.index.add(keyFrame{at, o.size + int64(len(o.buf))})
	}
}

// writeIndex writes the index into the room that was kept for it. A file that is
// too short for that gets none.
func (o *output) writeIndex() error {
	if o.index == nil || o.size < o.index.at+int64(o.index.size) {
		return nil
	}
	p := o.index.end(o.size, o.last)
	if p == nil {
		return nil
	}
	if _, err := o.f.WriteAt(p, o.index.at); err != nil {
		return fmt.Errorf("%s: index: %w", o.name, err)
	}
	return nil
}

// cut takes the newest key frame, and what follows it, out of the file, if there is
// something before it.
func (o *output) cut() error {
	if o.keyAt == 0 || o.err != nil {
		return nil
	}
	if err := o.flush(); err != nil {
		return err
	}
	if err := o.f.Truncate(o.keyAt); err != nil {
		return o.fail(err)
	}
	o.size, o.last, o.written = o.keyAt, o.keyLast, o.keyLast
	return nil
}

// close ends the file. It only returns an error that no earlier call has
// returned.
func (o *output) close() error {
	before := o.err
	err := o.flush()
	// Also after an error: its place is in the file.
	if index := o.writeIndex(); err == nil {
		err = index
	}
	if err == nil && o.recorder.options.Sync > 0 {
		err = o.f.Sync()
	}
	if closing := o.f.Close(); err == nil && closing != nil {
		err = fmt.Errorf("%s: %w", o.name, closing)
	}
	if before != nil {
		return nil
	}
	return err
}

// header is a sequence header that a file begins with.
type header struct {
	kind  flv.TagType
	track uint8 // of several, in enhanced RTMP; 0 otherwise
	body  []byte
}
