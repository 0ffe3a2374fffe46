package flv

import (
	"encoding/binary"
	"fmt"
)

// Tracks says whether a packet of enhanced RTMP has several tracks, and how
// they follow each other.
type Tracks uint8

// Kinds of packets by their tracks.
const (
	TrackOnly       Tracks     = iota // no word about tracks: the usual packet
	TrackOne                          // one track, with its number
	TrackMany                         // several, of one codec
	TrackManyCodecs                   // several, each with its codec
	tracksOnWire    = TrackOne        // stands for 0
	maxModEx        = 16              // groups that are read; there is one kind
	modExNano       = 0               // TimestampOffsetNano
	modExLong       = 256             // a size that is written in 2 more bytes
)

// An Extension is what only the enhanced form of a header has. Its zero value
// is what nearly all packets have.
type Extension struct {
	// ModEx are the groups of modifiers before the codec, as they are on the
	// wire; a view of what was parsed. Nil: none.
	ModEx []byte
	// Tracks tells a packet of several tracks. Codec, Packet and Len are then
	// about the first of them.
	Tracks    Tracks
	Track     uint8 // its number
	TrackSize int   // its bytes behind this number, a composition time included, 24 bits; 0 with TrackOne, whose track is all that is left
}

// NanoOffset returns the nanoseconds that a modifier adds to the tag's time, 0
// without one.
func (x *Extension) NanoOffset() uint32 {
	var ns uint32
	_, _ = eachModEx(x.ModEx, func(kind uint8, data []byte) {
		if kind == modExNano && len(data) >= 3 {
			ns = uint24(data)
		}
	})
	return ns
}

// body returns what is behind a header of n bytes, fields of which are the
// codec's and count for the track.
func (x *Extension) body(p []byte, n, fields int) []byte {
	p = p[min(n, len(p)):]
	if x.Tracks > TrackOne {
		size := min(max(x.TrackSize-fields, 0), len(p))
		p = p[:size:size]
	}
	return p
}

// eachModEx walks over the groups at the front of p until one says that another
// type of packet follows, which is in its last 4 bits. It returns the length of
// them all, 0 when they are cut off or too many.
func eachModEx(p []byte, yield func(kind uint8, data []byte)) (length int, cut bool) {
	at := 0
	for range maxModEx {
		if at >= len(p) {
			return 0, true
		}
		size := int(p[at]) + 1
		at++
		if size == modExLong {
			if len(p) < at+2 {
				return 0, true
			}
			size = int(binary.BigEndian.Uint16(p[at:])) + 1
			at += 2
		}
		if len(p) <= at+size {
			return 0, true
		}
		last := p[at+size]
		if yield != nil {
			yield(last>>4, p[at:at+size])
		}
		at += size + 1
		if last&packetMask != packetModEx {
			return at, false
		}
	}
	return 0, false
}

// parseModEx reads the type of the packet from p, which begins with the first
// byte of a header, and the groups before it.
func (x *Extension) parseModEx(p []byte) (packet uint8, err error) {
	packet = p[0] & packetMask
	if packet != packetModEx {
		return packet, nil
	}
	n, cut := eachModEx(p[1:], nil)
	switch {
	case cut:
		return 0, errCut("enhanced", len(p))
	case n == 0:
		return 0, fmt.Errorf("%w: more than %d modifiers", ErrSyntax, maxModEx)
	}
	x.ModEx = p[1 : 1+n : 1+n]
	return p[n] & packetMask, nil
}

// parseTracks reads what follows at p[at], codec and first track; multitrack is
// the type of a packet of tracks.
func (x *Extension) parseTracks(p []byte, at int, packet, multitrack uint8) (_ uint8, codec FourCC, end int, err error) {
	if packet != multitrack {
		if len(p) < at+4 {
			return 0, 0, 0, errCut("enhanced", len(p))
		}
		return packet, fourCC(p[at:]), at + 4, nil
	}
	if len(p) < at+6 { // the byte of both types, codec, number
		return 0, 0, 0, errCut("enhanced", len(p))
	}
	x.Tracks, packet = Tracks(p[at]>>4)+tracksOnWire, p[at]&packetMask
	if x.Tracks > TrackManyCodecs || packet == multitrack || packet == packetModEx {
		return 0, 0, 0, fmt.Errorf("%w: a packet of tracks with %#02x", ErrSyntax, p[at])
	}
	codec, x.Track = fourCC(p[at+1:]), p[at+5]
	at += 6
	if x.Tracks != TrackOne {
		if len(p) < at+3 {
			return 0, 0, 0, errCut("enhanced", len(p))
		}
		x.TrackSize = int(uint24(p[at:]))
		at += 3
	}
	return packet, codec, at, nil
}

// append writes what follows the first byte of a header, which is dst[at], up
// to the codec's own fields, and the type of the packet into that byte;
// multitrack is that of a packet of tracks.
func (x *Extension) append(dst []byte, at int, packet, multitrack uint8, codec FourCC, command bool) []byte {
	if packet > packetMask || packet == multitrack && !command || packet == packetModEx ||
		x.Tracks > TrackManyCodecs || uint(x.TrackSize) > MaxPayload {
		panic(fmt.Sprintf("flv: Append of packet type %d, tracks %d, %d bytes in the first", packet, x.Tracks, x.TrackSize))
	}
	next := packet
	if x.Tracks != TrackOnly && !command {
		next = multitrack
	}
	if len(x.ModEx) > 0 {
		if n, _ := eachModEx(x.ModEx, nil); n != len(x.ModEx) {
			panic(fmt.Sprintf("flv: Append of %d bytes of modifiers, of which %d are whole groups", len(x.ModEx), n))
		}
		dst[at] |= packetModEx
		dst = append(dst, x.ModEx...)
		at = len(dst) - 1
		dst[at] &^= packetMask
	}
	dst[at] |= next
	if command {
		return dst
	}
	if next == multitrack {
		dst = append(dst, byte(x.Tracks-tracksOnWire)<<4|packet)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(codec))
	if next == multitrack {
		dst = append(dst, x.Track)
		if x.Tracks != TrackOne {
			dst = appendUint24(dst, uint32(x.TrackSize))
		}
	}
	return dst
}
