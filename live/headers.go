package live

import (
	"bytes"

	"github.com/sluice-go/sluice/flv"
)

// headers are what a decoder needs before the first frame: copies, since they
// stay for as long as the stream does. They are never changed: a new set is
// made when one of them becomes different.
type headers struct {
	meta, video, color, audio []byte // bodies of tags, nil when there is none
}

// with returns the set in which the header of kind k is p.
func (h *headers) with(k kind, p []byte) *headers {
	next := *h
	var place *[]byte
	switch {
	case k&isMeta != 0:
		place = &next.meta
	case k&isColor != 0:
		place = &next.color
	case k&isVideo != 0:
		place = &next.video
	default:
		place = &next.audio
	}
	if bytes.Equal(*place, p) {
		return h
	}
	*place = bytes.Clone(p)
	return &next
}

// each calls yield with every header that there is, in the order in which they
// are sent.
func (h *headers) each(yield func(flv.TagType, []byte)) {
	if h.meta != nil {
		yield(flv.TagScript, h.meta)
	}
	if h.video != nil {
		yield(flv.TagVideo, h.video)
	}
	if h.color != nil {
		yield(flv.TagVideo, h.color)
	}
	if h.audio != nil {
		yield(flv.TagAudio, h.audio)
	}
}
