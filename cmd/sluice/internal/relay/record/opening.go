package record

import (
	"bytes"
	"fmt"
	"io"

	"github.com/sluice-go/sluice/flv"
)

// soundAlone is for how many milliseconds sound has to come without a picture until a
// recording goes on with it alone, as package live does: a publisher's video often comes a
// little later.
const soundAlone = 1000

// rarePictures is the same for a file that is full and has pictures: some cameras send few.
const rarePictures = 10_000

// An opening finds where a file can begin, or go on after a gap: at a key frame, or at sound
// in a stream without video. In a stream that had video, and whose publisher came back
// without, it is at sound after a while: pictures follow from their next key frame on.
type opening struct {
	video bool   // there are pictures, or headers of them
	blind bool   // pictures are left out until the next key frame
	heard bool   // there was sound since the latest picture
	since uint32 // its time, if there was
	alone uint32 // for how long there has been sound without a picture
}

// picture takes a picture, and reports whether a file can begin with it.
func (o *opening) picture(key bool) bool {
	o.video, o.heard, o.alone = true, false, 0
	return key
}

// sound takes a frame of sound, and reports whether a file can begin with it.
func (o *opening) sound(at uint32) bool {
	if !o.heard || int32(at-o.since) < 0 {
		o.heard, o.since = true, at
	}
	o.alone = at - o.since
	return !o.video || o.alone > soundAlone
}

// divides reports whether a full file may end before a frame with which the next one can
// begin: one that has pictures ends at a key frame while there are any.
func (o *opening) divides(picture bool) bool {
	return picture || !o.video || o.blind || o.alone > rarePictures
}

// begin says that the recording begins, or goes on after a gap, with a picture or with sound.
func (o *opening) begin(picture bool) { o.blind = o.video && !picture }

// hidden reports whether a picture is left out. From a key frame on none is.
func (o *opening) hidden(key bool) bool {
	o.blind = o.blind && !key
	return o.blind
}

// eachTag calls f for the tags in p, borrowed until f returns, which a Source returned.
func eachTag(p []byte, f func(h flv.TagHeader, body []byte) error) error {
	if bytes.HasPrefix(p, []byte("FLV")) {
		_, n, err := flv.ParseHeader(p)
		if err != nil {
			return err
		}
		// Files have their own header. The size of the tag before, 0, follows it.
		p = p[min(n+flv.PrevTagSizeLen, len(p)):]
	}
	for len(p) > 0 {
		h, err := flv.ParseTagHeader(p)
		if err != nil {
			return err
		}
		n := flv.TagHeaderLen + h.Size + flv.PrevTagSizeLen
		if n > len(p) {
			return fmt.Errorf("a tag of %d bytes in %d: %w", n, len(p), io.ErrUnexpectedEOF)
		}
		if err := f(h, p[flv.TagHeaderLen:flv.TagHeaderLen+h.Size]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}
