package mp4

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// withRecords returns a header that the library has written, with the configurations of the streams
// themselves: the library's have one parameter set of each kind, no more of AAC than the number of
// its channels, and no shape of pixels, which players of browsers take from there alone.
func withRecords(p []byte, tracks []Track) []byte {
	moov, ok := find(p, "moov")
	if !ok {
		return p
	}
	out := bytes.Clone(p[:moov+boxHead])
	for rest := p[moov+boxHead:]; len(rest) > 0; {
		kind, size, ok := box(rest)
		if !ok || size > len(rest) {
			return p
		}
		one := rest[:size]
		if kind == "trak" && len(tracks) > 0 {
			one = tracks[0].describe(one)
			tracks = tracks[1:]
		}
		out, rest = append(out, one...), rest[size:]
	}
	binary.BigEndian.PutUint32(out[moov:], uint32(len(out)-moov))
	return out
}

// describe returns a trak of the library's with the track's own configuration.
func (t *Track) describe(trak []byte) []byte {
	var entry, record step
	switch t.config.Codec {
	case flv.CodecAVC:
		entry, record = step{"avc1", pictureEntry}, step{kind: "avcC"}
	case flv.CodecHEVC:
		entry, record = step{"hvc1", pictureEntry}, step{kind: "hvcC"}
	case flv.CodecAAC:
		entry, record = step{"mp4a", soundEntry}, step{kind: "esds"}
	default:
		return trak
	}
	path := []step{{kind: "trak"}, {kind: "mdia"}, {kind: "minf"}, {kind: "stbl"}, {"stsd", stsdHead}, entry, record}
	trak = change(trak, path, func([]byte) []byte { return t.record })
	if look := t.config.Look(); !look.Square() {
		trak = change(trak, path[:len(path)-1], func(p []byte) []byte { return slices.Concat(p, shapeOf(look)) })
		trak = change(trak, []step{{kind: "trak"}, {kind: "tkhd"}}, func(p []byte) []byte { return shownAs(p, look) })
	}
	return trak
}

// shapeOf returns the box of the shape of pixels (section 12.1.4).
func shapeOf(look au.Look) []byte {
	p := append([]byte{0, 0, 0, boxHead + 8}, "pasp"...)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(p, uint32(look.PixelWidth)), uint32(look.PixelHeight))
}

// shownAs returns the contents of a track's header, in which the width is at last but one, as that of the
// picture that is shown (section 8.3.2).
func shownAs(tkhd []byte, look au.Look) []byte {
	const width, fixed = 8, 1 << 16
	p := bytes.Clone(tkhd)
	if at := len(p) - width; at >= 0 {
		shown := look.Shown(int(binary.BigEndian.Uint32(p[at:]) / fixed))
		binary.BigEndian.PutUint32(p[at:], uint32(min(shown, math.MaxUint16)*fixed))
	}
	return p
}

// A step is a box on the way to another one, and how many bytes it has before the boxes in it.
type step struct {
	kind   string
	before int
}

// change returns p with what to makes of the contents, borrowed, of the box that a path leads to; p as it is
// without that box.
func change(p []byte, path []step, to func(contents []byte) []byte) []byte {
	var places []int
	from, end := 0, len(p)
	for _, s := range path {
		at, ok := find(p[from:end], s.kind)
		if !ok {
			return p
		}
		at += from
		_, size, _ := box(p[at:])
		if size < boxHead+s.before {
			return p
		}
		places = append(places, at)
		from, end = at+boxHead+s.before, at+size
	}
	contents := to(p[from:end])
	out := slices.Concat(p[:from], contents, p[end:])
	for _, at := range places {
		binary.BigEndian.PutUint32(out[at:], uint32(int(binary.BigEndian.Uint32(out[at:]))+len(contents)-(end-from)))
	}
	return out
}

// Tags of descriptors, and types of objects (ISO/IEC 14496-1, tables 1 and 5).
const (
	tagES, tagDecoder, tagSpecific, tagSync = 3, 4, 5, 6

	objectAAC, objectMP3 = 0x40, 0x6b
)

// Bytes of descriptors before those in them (section 7.2.6), and of the box before the first.
const (
	versionLen = 4
	esHead     = 3
	decoder    = 13
)

// descriptorOf returns the contents of the box that describes AAC of a track (ISO/IEC 14496-14, section
// 5.6), with its AudioSpecificConfig. Rates of bits are not known.
func descriptorOf(track uint32, asc []byte) []byte {
	put := func(tag byte, parts ...[]byte) []byte {
		p := slices.Concat(parts...)
		n := len(p)
		return append([]byte{tag, 0x80 | byte(n>>21), 0x80 | byte(n>>14), 0x80 | byte(n>>7), byte(n & 0x7f)}, p...)
	}
	const sound = 5<<2 | 1
	head := [decoder]byte{objectAAC, sound}
	return append(make([]byte, versionLen), put(tagES, []byte{byte(track >> 8), byte(track), 0},
		put(tagDecoder, head[:], put(tagSpecific, asc)), put(tagSync, []byte{2}))...)
}

// parseDescriptor returns the type of the object that the contents of such a box describe, and what they
// say of the decoder, a view.
func parseDescriptor(p []byte) (object byte, specific []byte, ok bool) {
	next := func(tag byte) bool {
		if len(p) == 0 || p[0] != tag {
			return false
		}
		n := 0
		for i, b := range p[1:min(5, len(p))] {
			if n = n<<7 | int(b&0x7f); b&0x80 == 0 {
				p = p[2+i:]
				if n > len(p) {
					return false
				}
				p = p[:n]
				return true
			}
		}
		return false
	}
	p = p[min(versionLen, len(p)):]
	if !next(tagES) || len(p) < esHead {
		return 0, nil, false
	}
	p = p[esHead:]
	if !next(tagDecoder) || len(p) < decoder {
		return 0, nil, false
	}
	object, p = p[0], p[decoder:]
	if next(tagSpecific) {
		specific = p
	}
	return object, specific, true
}
