package rtpmedia

import "github.com/bluenviron/mediacommon/v2/pkg/codecs/opus"

// maxOpusFrames is how many frames a packet of Opus has at most (RFC 6716, section 3.2.5).
const maxOpusFrames = 48

// maxOpusChannels is how many channels Opus has in RTP at most (RFC 7587, section 4.1).
const maxOpusChannels = 2

// opus packs a packet of Opus. RTP has no fragments of one (RFC 7587, section 4.2), but a
// frame has at most 1,275 bytes, so what is longer than a packet of RTP has several: they go
// in a packet each. What is no packet of Opus is left out when it is as long.
func (w *writer) opus(p []byte) {
	if len(p) <= w.room {
		w.whole(true, p)
		return
	}
	var room [maxOpusFrames][]byte
	frames := opusFrames(room[:0], p)
	const one = 3 // the bits that say how many frames there are
	head := []byte{p[0] &^ one}
	length := uint32(opus.PacketDuration2(head)) // in samples of 48 kHz
	for i, f := range frames {
		if i > 0 {
			w.at += length
		}
		w.whole(true, head, f)
	}
}

// opusFrames appends the views of the frames of a packet of Opus (RFC 6716, section 3.2) to
// dst, none of one that is malformed.
func opusFrames(dst [][]byte, p []byte) [][]byte {
	if len(p) == 0 {
		return dst
	}
	kind, rest := p[0]&3, p[1:]
	count, sized := 1, 0 // frames, and those of them that have their length before them
	switch kind {
	case 1:
		count = 2
	case 2:
		count, sized = 2, 1
	case 3:
		if len(rest) == 0 {
			return dst
		}
		variable, padded := rest[0]&0x80 != 0, rest[0]&0x40 != 0
		count, rest = int(rest[0]&0x3f), rest[1:]
		if padded {
			var ok bool
			if rest, ok = withoutPadding(rest); !ok {
				return dst
			}
		}
		if variable {
			sized = count - 1
		}
	}
	if count == 0 || count > maxOpusFrames {
		return dst
	}
	var sizes [maxOpusFrames]int
	left := 0 // bytes of the frames with lengths
	for i := range sized {
		n, k := opusLength(rest)
		if k == 0 {
			return dst
		}
		sizes[i], rest = n, rest[k:]
		left += n
	}
	last := len(rest) - left // of the others together, which are equally long
	others := count - sized
	if last < 0 || last%others != 0 {
		return dst
	}
	for i := range count {
		n := last / others
		if i < sized {
			n = sizes[i]
		}
		dst, rest = append(dst, rest[:n]), rest[n:]
	}
	return dst
}

// withoutPadding cuts the padding off the end, and its length off the front, where 255
// stands for 254 bytes and another number.
func withoutPadding(p []byte) ([]byte, bool) {
	padding := 0
	for len(p) > 0 {
		n := int(p[0])
		p = p[1:]
		if n < 255 {
			padding += n
			if padding > len(p) {
				return nil, false
			}
			return p[:len(p)-padding], true
		}
		padding += 254
	}
	return nil, false
}

// opusLength reads a frame's length and returns how many bytes it takes, 0 when it is cut off.
func opusLength(p []byte) (n, size int) {
	switch {
	case len(p) > 0 && p[0] < 252:
		return int(p[0]), 1
	case len(p) > 1:
		return int(p[0]) + 4*int(p[1]), 2
	}
	return 0, 0
}
