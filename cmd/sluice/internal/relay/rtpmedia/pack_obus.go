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
	layer      int // -1: of all
}

func (e *obuElement) len() int { return len(e.head) + len(e.rest) }

// take appends the first n bytes to dst.
func (e *obuElement) take(dst []byte, n int) []byte {
	k := min(n, len(e.head))
	dst = append(append(dst, e.head[:k]...), e.rest[:n-k]...)
	e.head, e.rest = e.head[k:], e.rest[n-k:]
	return dst
}

// obus packs the OBUs of a picture (RTP Payload Format For AV1, section 4). Those of a
// layer share packets, and a packet with more behind it ends within an OBU: Chromium
// takes a packet that begins with a whole OBU for the first of a picture.
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
	var e obuElement
	for i, p := range parts {
		if i == 0 {
			e = elementOf(p)
		}
		var next obuElement
		final := i == len(parts)-1
		if !final {
			next = elementOf(parts[i+1])
		}
		apart := final || e.layer >= 0 && next.layer >= 0 && e.layer != next.layer
		for e.len() > 0 {
			flags = w.obu(&e, flags, apart, final)
		}
		if next.layer < 0 {
			next.layer = e.layer
		}
		e = next
	}
}

// elementOf is the element of an OBU; empty for what is none, which the Splitter has
// left out.
func elementOf(p []byte) obuElement {
	header, payload, err := au.SplitOBU(p)
	if err != nil {
		return obuElement{layer: -1}
	}
	e := obuElement{head: append([]byte{p[0] &^ 2}, p[1:header]...), rest: payload, layer: -1}
	if header > 1 {
		e.layer = int(p[1])
	}
	return e
}

// obu packs what of e the packet in work has room for. flags are those of the aggregation
// header of a packet that begins here, and what it returns is for the next call: with
// obuOpen while there is room. With apart the packet ends behind e, with final the
// picture too.
func (w *writer) obu(e *obuElement, flags byte, apart, final bool) byte {
	if flags&obuOpen == 0 {
		w.begin()
		if apart || e.len() >= w.room-1 {
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
	if n == e.len() && n > 2 && !apart && most-n < leastOBU {
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
	case apart || alone || most-n < leastOBU:
		w.end(final)
		return 0
	}
	return obuOpen
}
