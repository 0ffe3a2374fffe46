package mp4

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/sluice-go/sluice/flv"
)

// withRecords returns a header that the library has written, with the configurations of the streams
// themselves: the library's have one parameter set of each kind, and no more of AAC than the number of
// its channels.
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
	return replace(trak, []step{{kind: "trak"}, {kind: "mdia"}, {kind: "minf"}, {kind: "stbl"}, {"stsd", stsdHead}, entry, record}, t.record)
}

// A step is a box on the way to another one, and how many bytes it has before the boxes in it.
type step struct {
	kind   string
	before int
}

// replace returns p with other contents of the box that a path leads to; p as it is without that box.
func replace(p []byte, path []step, contents []byte) []byte {
	var places []int
	from, to := 0, len(p)
	for _, s := range path {
		at, ok := find(p[from:to], s.kind)
		if !ok {
			return p
		}
		at += from
		_, size, _ := box(p[at:])
		if size < boxHead+s.before {
			return p
		}
		places = append(places, at)
		from, to = at+boxHead+s.before, at+size
	}
	out := slices.Concat(p[:from], contents, p[to:])
	for _, at := range places {
		binary.BigEndian.PutUint32(out[at:], uint32(int(binary.BigEndian.Uint32(out[at:]))+len(contents)-(to-from)))
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
