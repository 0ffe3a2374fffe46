package rtpmedia

import (
	"bytes"
	"encoding/binary"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// A unit is a picture in work: views of the packets that it has come in.
type unit struct {
	bufs   []mem.Buf // retained
	pieces [][]byte  // views of bufs and of heads
	starts []int     // where in pieces its NAL units, or OBUs, begin
	heads  []byte    // first bytes that are not in a packet as they are
	size   int       // bytes of the packets
	kept   int       // memory that they keep, see dense
	open   bool      // the last NAL unit has not ended
	broken bool      // a packet is missing before the next one
	coded  bool      // the stream has start codes, see cut; reset keeps it
}

// packedExtra is by how much a NAL unit or an OBU may be longer when it is packed: a
// length of 4 bytes, or a size of at most 8, and the two bytes of a head.
const packedExtra = 12

func (u *unit) empty() bool { return len(u.bufs) == 0 }

// hold keeps a packet, transferred, and returns a view of it that is borrowed until the
// reset.
func (u *unit) hold(b mem.Buf) []byte {
	view := b.Bytes()
	u.size += b.Len()
	u.bufs = append(u.bufs, b) //sluice:moved
	return view
}

func (u *unit) reset() {
	for i := range u.bufs {
		u.bufs[i].Release()
		u.bufs[i] = mem.Buf{}
	}
	u.bufs, u.pieces, u.starts, u.heads = u.bufs[:0], u.pieces[:0], u.starts[:0], u.heads[:0]
	u.size, u.kept, u.open, u.broken = 0, 0, false, false
}

// begin begins a NAL unit or an OBU with its first bytes.
func (u *unit) begin(p []byte) {
	u.starts = append(u.starts, len(u.pieces))
	u.pieces = append(u.pieces, p)
}

// head returns a copy of first bytes which stays until the reset.
func (u *unit) head(p ...byte) []byte {
	if cap(u.heads)-len(u.heads) < len(p) {
		u.heads = make([]byte, 0, 64+2*cap(u.heads)) // the old one stays with its views
	}
	n := len(u.heads)
	u.heads = append(u.heads, p...)
	return u.heads[n:len(u.heads):len(u.heads)]
}

// fragment takes a part of a unit. It reports false for one that does not fit what
// came before it.
func (u *unit) fragment(first, last bool, head []byte, p []byte) bool {
	if u.broken && !first || first == u.open {
		u.broken = false
		return false
	}
	u.broken = false
	if first {
		u.begin(head)
		u.open = true
	}
	u.pieces = append(u.pieces, p)
	if last {
		u.open = false
	}
	return true
}

// single takes whole units, and none must be open.
func (u *unit) single(p []byte) bool {
	ok := !u.open && len(p) > 0
	if ok {
		u.begin(p)
	}
	u.broken = false
	return ok
}

// take takes the payload of a packet, which hold has returned, and reports whether it fits what is there.
func (u *unit) take(codec flv.FourCC, p []byte) bool {
	switch codec {
	case flv.CodecAVC:
		return u.avc(p)
	case flv.CodecHEVC:
		return u.hevc(p)
	case flv.CodecAV1:
		return u.av1(p)
	case flv.CodecVP9:
		return u.vp9(p)
	}
	return false
}

// avc takes the payload of a packet (RFC 6184, section 5.2).
func (u *unit) avc(p []byte) bool {
	switch kind := p[0] & 0x1f; {
	case kind >= 1 && kind <= 23, bytes.HasPrefix(p, []byte{0, 0, 0, 1}), bytes.HasPrefix(p, []byte{0, 0, 1}):
		return u.single(p) && u.cut(flv.CodecAVC)
	case kind == 24: // STAP-A
		return u.aggregate(p[1:])
	case kind == 28 && len(p) > 2: // FU-A
		return u.fragment(p[1]&0x80 != 0, p[1]&0x40 != 0, u.head(p[0]&0xe0|p[1]&0x1f), p[2:]) && (u.open || u.cut(flv.CodecAVC))
	case kind == 0, kind > 29:
		return true // reserved: a receiver passes over it
	}
	return false
}

// aggregate takes several units with lengths of 16 bits.
func (u *unit) aggregate(p []byte) bool {
	const most = 256
	for n := 0; len(p) > 0; n++ {
		if len(p) < 2 || len(p)-2 < u16(p) || n == most {
			return false
		}
		if size := u16(p); size > 0 && !u.single(p[2:2+size]) {
			return false
		}
		p = p[2+u16(p):]
	}
	return true
}

// hevc takes the payload of a packet (RFC 7798, section 4.4), without DONL fields.
func (u *unit) hevc(p []byte) bool {
	if len(p) < 2 {
		return false
	}
	switch kind := p[0] >> 1 & 0x3f; {
	case kind < 48:
		return u.single(p) && u.cut(flv.CodecHEVC)
	case kind == 48:
		return u.aggregate(p[2:])
	case kind == 49 && len(p) > 3:
		return u.fragment(p[2]&0x80 != 0, p[2]&0x40 != 0, u.head(p[0]&0x81|p[2]&0x3f<<1, p[1]), p[3:]) && (u.open || u.cut(flv.CodecHEVC))
	case kind > 50:
		return true // reserved
	}
	return false
}

// av1 takes the payload of a packet (RTP Payload Format For AV1, section 4.4).
func (u *unit) av1(p []byte) bool {
	continued, continues, count := p[0]&0x80 != 0, p[0]&0x40 != 0, int(p[0]>>4&3)
	p = p[1:]
	const most = 256
	for n := 1; len(p) > 0; n++ {
		if n > most {
			return false
		}
		element := p
		if count == 0 || n < count {
			size, k := binary.Uvarint(p)
			if k <= 0 || size > uint64(len(p)-k) {
				return false
			}
			element = p[k : k+int(size)]
			p = p[k+int(size):]
		} else {
			p = nil
		}
		if len(element) == 0 {
			continue
		}
		first := n > 1 || !continued
		last := len(p) > 0 || !continues
		if first == u.open || u.broken && !first {
			u.broken = false
			return false
		}
		u.broken = false
		if first {
			u.begin(element)
		} else {
			u.pieces = append(u.pieces, element)
		}
		u.open = !last
	}
	return true
}

// vp9 takes the payload of a packet (RFC 9628, section 4.2), of one layer.
func (u *unit) vp9(p []byte) bool {
	first, at := p[0], 1
	skip := func(n int) { at += n }
	if first&0x80 != 0 { // picture's number
		if at >= len(p) {
			return false
		}
		if p[at]&0x80 != 0 {
			skip(1)
		}
		skip(1)
	}
	if first&0x20 != 0 { // layers
		skip(1)
		if first&0x10 == 0 {
			skip(1)
		}
	}
	if first&0x50 == 0x50 { // references
		for range 3 {
			if at >= len(p) {
				return false
			}
			at++
			if p[at-1]&1 == 0 {
				break
			}
		}
	}
	if first&0x02 != 0 { // structure of the layers
		if at >= len(p) {
			return false
		}
		s := p[at]
		skip(1)
		if s&0x10 != 0 {
			skip(4 * (int(s>>5) + 1))
		}
		if s&0x08 != 0 {
			if at >= len(p) {
				return false
			}
			n := int(p[at])
			skip(1)
			for range n {
				if at >= len(p) {
					return false
				}
				skip(1 + int(p[at]>>2&3))
			}
		}
	}
	if at >= len(p) {
		return false
	}
	begins := first&0x08 != 0
	if u.broken && !begins || len(u.pieces) == 0 && !begins {
		u.broken = false
		return false
	}
	u.broken = false
	if len(u.pieces) == 0 {
		u.begin(p[at:])
	} else {
		u.pieces = append(u.pieces, p[at:])
	}
	return true
}

// pack appends the unit to dst as au.Joiner.Frame takes it. dst has room for it.
func (u *unit) pack(codec flv.FourCC, dst []byte) []byte {
	for i, from := range u.starts {
		to := len(u.pieces)
		if i+1 < len(u.starts) {
			to = u.starts[i+1]
		}
		pieces := u.pieces[from:to]
		n := 0
		for _, p := range pieces {
			n += len(p)
		}
		switch codec {
		case flv.CodecAVC, flv.CodecHEVC:
			dst = binary.BigEndian.AppendUint32(dst, uint32(n))
		case flv.CodecAV1:
			var skip int
			dst, skip = appendOBUHead(dst, pieces, n)
			pieces = cutFront(pieces, skip)
		}
		for _, p := range pieces {
			dst = append(dst, p...)
		}
	}
	return dst
}

// appendOBUHead appends the header of an OBU of n bytes with its size, and returns how
// many bytes it had without.
func appendOBUHead(dst []byte, pieces [][]byte, n int) ([]byte, int) {
	p := pieces[0]
	if p[0]&2 != 0 || p[0]&4 != 0 && len(p) < 2 {
		return dst, 0 // it has a size, or is too short
	}
	header := 1
	if p[0]&4 != 0 {
		header = 2
	}
	return binary.AppendUvarint(append(append(dst, p[0]|2), p[1:header]...), uint64(n-header)), header
}

// cutFront is pieces without their first n bytes, which are in the first piece.
func cutFront(pieces [][]byte, n int) [][]byte {
	if n == 0 {
		return pieces
	}
	pieces[0] = pieces[0][n:]
	return pieces
}
