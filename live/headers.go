package live

import (
	"bytes"
	"slices"

	"github.com/sluice-go/sluice/flv"
)

// headers are what a decoder needs before the first frame: metadata, and for
// each track its sequence header and what describes its pictures or loudspeakers. They are
// copies, since they stay for as long as the stream does. A set is never
// changed: a new one is made when a header becomes different.
type headers struct {
	list []header // in the order in which they are sent
}

type header struct {
	kind  kind // without what changes from one to the next
	track track
	body  []byte // of the tag
}

// maxHeaders bounds what is kept of a publisher that invents tracks. A header
// on top is passed on like a frame, and those who join later lack it.
const maxHeaders = 64

// Headers are in no ring, and nothing trims them: what those of one stream take is bounded, metadata by half of
// it, so that sequence headers have room. One that is longer is passed on like a frame, too.
const (
	maxHeaderBytes = 2 * minShare
	maxMetaBytes   = maxHeaderBytes / 2
)

// headerSize is how many bytes a set takes for each of its headers, apart from their bodies.
const headerSize = 32

// headerKinds are the bits that distinguish the headers of one track.
const headerKinds = isVideo | isAudio | isMeta | isDetail

// order is the place of a header's kind among the others.
func (k kind) order() int {
	switch {
	case k&isMeta != 0:
		return 0
	case k&(isVideo|isDetail) == isVideo:
		return 1
	case k&isVideo != 0:
		return 2
	case k&isDetail == 0:
		return 3
	}
	return 4
}

func (h header) compare(o header) int {
	if d := h.kind.order() - o.kind.order(); d != 0 {
		return d
	}
	return int(h.track) - int(o.track)
}

// with returns the set in which the header of that kind and track is p.
func (h *headers) with(k kind, t track, p []byte) *headers {
	if k&isAudio != 0 {
		h = h.without(t, p)
	}
	one := header{kind: k & headerKinds, track: t}
	i, found := slices.BinarySearchFunc(h.list, one, header.compare)
	switch {
	case found && bytes.Equal(h.list[i].body, p):
		return h
	case !found && len(h.list) >= maxHeaders:
		return h
	case !h.hasRoom(one, len(p)):
		if !found {
			return h
		}
		return &headers{list: slices.Delete(slices.Clone(h.list), i, i+1)} // it holds no more
	}
	one.body = bytes.Clone(p)
	next := &headers{list: make([]header, 0, len(h.list)+1)}
	next.list = append(next.list, h.list[:i]...)
	next.list = append(next.list, one)
	if found {
		i++
	}
	next.list = append(next.list, h.list[i:]...)
	return next
}

// hasRoom reports whether one may have n bytes beside the others.
func (h *headers) hasRoom(one header, n int) bool {
	if one.kind&isMeta != 0 && n > maxMetaBytes {
		return false
	}
	for _, o := range h.list {
		if one.compare(o) != 0 {
			n += len(o.body)
		}
	}
	return n <= maxHeaderBytes
}

// without returns the set without the headers of a track's sound that are of another codec
// than p, a frame or header of it: codecs without headers follow those with one.
func (h *headers) without(t track, p []byte) *headers {
	other := func(o header) bool { return o.kind&isAudio != 0 && o.track == t && !sameSound(o.body, p) }
	if !slices.ContainsFunc(h.list, other) {
		return h
	}
	return &headers{list: slices.DeleteFunc(slices.Clone(h.list), other)}
}

// sameSound reports whether two tags of sound are of one codec, as far as they say it.
func sameSound(a, b []byte) bool {
	const enhanced = 9 // where the classic form has the codec
	if len(a) == 0 || len(b) == 0 || a[0]>>4 == b[0]>>4 && a[0]>>4 != enhanced {
		return true
	}
	x, err := flv.ParseAudio(a)
	y, other := flv.ParseAudio(b)
	return err != nil || other != nil || x.Codec == y.Codec
}

// each calls yield with every header that there is, in the order in which they
// are sent.
func (h *headers) each(yield func(flv.TagType, []byte)) {
	for _, one := range h.list {
		yield(one.typ(), one.body)
	}
}

// have reports whether a header is in the set.
func (h *headers) have(typ flv.TagType, body []byte) bool {
	return slices.ContainsFunc(h.list, func(o header) bool { return o.typ() == typ && bytes.Equal(o.body, body) })
}

func (h header) typ() flv.TagType {
	switch {
	case h.kind&isMeta != 0:
		return flv.TagScript
	case h.kind&isAudio != 0:
		return flv.TagAudio
	}
	return flv.TagVideo
}

// config returns the sequence header of the main track, which has the lowest
// number, of video or audio; nil when there is none.
func (h *headers) config(k kind) []byte {
	for _, one := range h.list {
		if one.kind == k {
			return one.body
		}
	}
	return nil
}
