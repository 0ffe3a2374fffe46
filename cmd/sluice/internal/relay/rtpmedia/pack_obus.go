package rtpmedia

import (
	"encoding/binary"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// The aggregation header of a packet of AV1 (RTP Payload Format For AV1, section 4.4).
const (
	obuContinued = 0x80   // the first element goes on with the last of the packet before
	obuContinues = 0x40   // the last element goes on in the next packet
	obuAlone     = 1 << 4 // one element, without a length before it; else each has one
	obuSequence  = 0x08   // a coded video sequence begins
	obuOpen      = 0x01   // not sent: the packet in work has room
)

// leastOBU is the room in bytes that another element is begun for: its length and header.
const leastOBU = 4

// An obuElement is what is left of an OBU to pack: without a size of its own.
type obuElement struct {
	head, rest []byte
}

func (e *obuElement) len() int { return len(e.head) + len(e.rest) }

// take appends the first n bytes to dst.
func (e *obuElement) take(dst []byte, n int) []byte {
	k := min(n, len(e.head))
	dst = append(append(dst, e.head[:k]...), e.rest[:n-k]...)
	e.head, e.rest = e.head[k:], e.rest[n-k:]
	return dst
}

// obus packs the OBUs of a picture (RTP Payload Format For AV1, section 4). A packet with
// more behind it ends within an OBU: Chromium takes a packet that begins with a whole OBU
// for the first of a picture. That holds between layers too. The format keeps them apart
// (section 5) for servers that leave some out, which this one does not, and Chromium then
// shows no picture of several layers.
func (w *writer) obus(u *au.Unit) {
	const sequenceHeader = 1
	has := slices.ContainsFunc(u.Parts, func(p []byte) bool { return au.OBUType(p) == sequenceHeader })
	parts := u.Parts
	if u.Key && !has && u.Config != nil && len(u.Config.Sets) > 0 {
		parts = append([][]byte{u.Config.Sets[0]}, parts...)
	}
	flags := byte(0)
	if u.Key {
		flags = obuSequence
	}
	for i, p := range parts {
		final := i == len(parts)-1
		for e := elementOf(p); e.len() > 0; {
			flags = w.obu(&e, flags, final)
		}
	}
}

// elementOf is the element of an OBU; empty for what is none, which the Splitter has
// left out.
func elementOf(p []byte) obuElement {
	header, payload, err := au.SplitOBU(p)
	if err != nil {
		return obuElement{}
	}
	return obuElement{head: append([]byte{p[0] &^ 2}, p[1:header]...), rest: payload}
}

// obu packs what of e the packet in work has room for. flags are those of the aggregation
// header of a packet that begins here, and what it returns is for the next call: with
// obuOpen while there is room. With final the picture ends behind e.
func (w *writer) obu(e *obuElement, flags byte, final bool) byte {
	if flags&obuOpen == 0 {
		w.begin()
		if final || e.len() >= w.room-1 {
			flags |= obuAlone
		}
		w.dst = append(w.dst, flags)
	}
	start := w.begun + frameLen + headerLen
	alone := w.dst[start]&obuAlone != 0
	left := w.room - (len(w.dst) - start)
	most := left
	if !alone {
		most -= 2 // the length of an element of less than 16 KiB
	}
	n := min(e.len(), most)
	if n == e.len() && n > 2 && !final && most-n < leastOBU {
		n--
	}
	if !alone {
		w.dst = binary.AppendUvarint(w.dst, uint64(n))
	}
	w.dst = e.take(w.dst, n)
	switch {
	case e.len() > 0:
		w.dst[start] |= obuContinues
		w.end(false)
		return obuContinued
	case final || alone || most-n < leastOBU:
		w.end(final)
		return 0
	}
	return obuOpen
}
