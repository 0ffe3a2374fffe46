package archive

import (
	"encoding/binary"
	"io"
	"time"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/flv"
)

const (
	// flvFront is what is before the first tag of a recording.
	flvFront = flv.HeaderLen + flv.PrevTagSizeLen
	// flvEnd is how much of the end of a file is searched for its last whole tag: a server
	// that is killed may leave a part of one.
	flvEnd = 1 << 20
)

// flvLength is the duration in a file's metadata, 0 when there is none.
func flvLength(f io.ReaderAt) time.Duration {
	p := make([]byte, 64<<10)
	n, _ := f.ReadAt(p, 0)
	if p = p[:n]; n < flvFront+flv.TagHeaderLen || p[flvFront] != byte(flv.TagScript) {
		return 0
	}
	size := int(binary.BigEndian.Uint32(p[flvFront:]) & 0xffffff)
	if p = p[flvFront+flv.TagHeaderLen:]; size > len(p) {
		return 0
	}
	_, values, err := flv.ParseScript(p[:size])
	if err != nil || len(values) == 0 {
		return 0
	}
	v, _ := amf0.Properties(values[0]).Get("duration")
	seconds, ok := v.(float64)
	if !ok || !(seconds > 0 && seconds < 1e8) {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// flvLast is the time of the last whole tag of a file of that size; ok is false when none is
// found near its end.
func flvLast(f io.ReaderAt, size int64) (at time.Duration, ok bool) {
	n := int64(flv.PrevTagSizeLen) // a file mostly ends between tags
	for {
		n = min(n, size-flvFront)
		p := make([]byte, max(n, 0))
		if _, err := f.ReadAt(p, size-n); err != nil {
			return 0, false
		}
		for i := len(p); i >= flv.PrevTagSizeLen; i-- {
			if h, ok := flvTagBefore(f, size-n+int64(i), p[:i]); ok {
				return time.Duration(h.Time) * time.Millisecond, true
			}
		}
		if n != flv.PrevTagSizeLen {
			return 0, false
		}
		n = flvEnd
	}
}

// flvTagBefore returns the header of the tag that ends at a place, if one does. behind is what
// the file has before the place, or the end of it.
func flvTagBefore(f io.ReaderAt, end int64, behind []byte) (h flv.TagHeader, ok bool) {
	k := len(behind) - flv.PrevTagSizeLen
	n := int64(binary.BigEndian.Uint32(behind[k:]))
	begin := end - flv.PrevTagSizeLen - n
	if n < flv.TagHeaderLen || n > flv.TagHeaderLen+flv.MaxPayload || begin < flvFront {
		return h, false
	}
	p := make([]byte, flv.TagHeaderLen)
	if from := int64(k) - n; from >= 0 {
		copy(p, behind[from:])
	} else if _, err := f.ReadAt(p, begin); err != nil {
		return h, false
	}
	h, err := flv.ParseTagHeader(p)
	known := h.Type == flv.TagAudio || h.Type == flv.TagVideo || h.Type == flv.TagScript
	return h, err == nil && known && !h.Filter && h.StreamID == 0 && int64(h.Size) == n-flv.TagHeaderLen
}
