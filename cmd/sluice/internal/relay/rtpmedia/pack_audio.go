package rtpmedia

import (
	"encoding/binary"

	"github.com/sluice-go/sluice/flv"
)

// sound packs a frame of sound with so many channels.
func (w *writer) sound(codec flv.FourCC, channels int, p []byte) {
	switch codec {
	case flv.CodecAAC:
		w.aac(p)
	case flv.CodecMP3:
		w.mp3(p)
	case flv.CodecAC3:
		w.ac3(p)
	case flv.CodecOpus:
		w.opus(p)
	default: // G.711 may be cut between samples of all channels, which have a byte each
		channels = max(channels, 1)
		for len(p) > 0 {
			n := min(len(p), w.room/channels*channels)
			w.whole(false, p[:n])
			w.at += uint32(n / channels)
			p = p[n:]
		}
	}
}

// aac packs a frame with its length in 13 bits (RFC 3640, section 3.3.6). Fragments
// have the length of the whole.
func (w *writer) aac(p []byte) {
	const most = 1<<13 - 1
	if len(p) > most {
		return // no frame of AAC is as long
	}
	head := binary.BigEndian.AppendUint16([]byte{0, 16}, uint16(len(p))<<3)
	for len(p) > 0 {
		n := min(len(p), w.room-len(head))
		w.whole(n == len(p), head, p[:n])
		p = p[n:]
	}
}

// mp3 packs a frame behind its place in the frame (RFC 2250, section 3.5).
func (w *writer) mp3(p []byte) {
	for at := 0; at < len(p); {
		n := min(len(p)-at, w.room-4)
		w.whole(at == 0, binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(at)), p[at:at+n])
		at += n
	}
}

// ac3 packs a frame, in fragments if it must be (RFC 4184, section 4.1).
func (w *writer) ac3(p []byte) {
	size := w.room - 2
	count := (len(p) + size - 1) / size
	kind := byte(0) // complete frames, one
	if count > 1 {
		kind = 2 // the first fragment
		if size >= len(p)*5/8 {
			kind = 1 // with the first five eighths
		}
	}
	for len(p) > 0 {
		n := min(len(p), size)
		w.whole(n == len(p), []byte{kind, byte(count)}, p[:n])
		kind = 3
		p = p[n:]
	}
}
