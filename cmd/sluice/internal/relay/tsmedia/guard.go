package tsmedia

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
)

// Errors that callers match with errors.Is.
var (
	// ErrSyntax: what came is no transport stream.
	ErrSyntax = errors.New("tsmedia: syntax error")
	// ErrCodec: no track has a codec that is carried.
	ErrCodec = errors.New("tsmedia: codec not carried")
	// ErrTooLong: a unit is longer than the limit.
	ErrTooLong = errors.New("tsmedia: unit too long")
)

const (
	packetLen = 188
	syncByte  = 0x47
	// maxPIDs bounds the streams within a transport stream: for each the library
	// collects packets.
	maxPIDs = 64
	// probeBytes is how much may come before all is known of the tracks: the library
	// keeps it.
	probeBytes = 16 << 20
	// maxTable is how many bytes of packets may come of a table: its sections have 4,096 at most (ISO/IEC
	// 13818-1, section 2.4.4.10), and where another one begins a unit does.
	maxTable = 8 << 10
	// maxGarbage is how many bytes without a packet are passed over.
	maxGarbage = 64 << 10
)

// A guard passes whole packets on and keeps the library behind it within limits: it
// collects the packets of a unit until the next one begins, however long that takes.
type guard struct {
	r       io.Reader
	limit   int // bytes of a unit
	probing int // bytes that may still come before the tracks are known; negative: they are

	in      []byte // received; from at on not passed on
	at      int
	between int   // bytes before the next packet
	stride  int   // from packet to packet; 0: not known
	garbage int   // bytes
	ended   error // of r

	seed   maphash.Seed
	latest map[uint16]uint64 // packet with a payload, and its number, by PID
	tables map[uint16]bool   // PIDs of tables; the library never forgets one
	units  map[uint16]unit   // that each PID is in
	total  int               // of them

	hold    func(bytes int) error // Options.Hold
	holding int                   // what it was called with
	media   func(bytes int)       // Options.Media

	scrambled func(pid uint16) // takes note of a packet that cannot be read
}

func newGuard(r io.Reader, limit int, hold func(int) error) *guard {
	return &guard{r: r, limit: limit, hold: hold, probing: probeBytes, in: make([]byte, 0, 16<<10), units: map[uint16]unit{}, latest: map[uint16]uint64{}, tables: map[uint16]bool{0: true}, seed: maphash.MakeSeed()}
}

// A unit is one that has begun.
type unit struct {
	bytes   int
	counter byte // of its first packet
	media   bool // it is no table
}

// Read implements io.Reader. It returns whole packets unless p is shorter.
func (g *guard) Read(p []byte) (n int, err error) {
	if len(p) < packetLen {
		return 0, fmt.Errorf("%w: %d bytes of room for packets", io.ErrShortBuffer, len(p))
	}
	for {
		for len(p)-n >= packetLen {
			packet := g.next()
			if packet == nil {
				break
			}
			again, err := g.look(packet)
			if err != nil {
				return 0, err
			}
			if !again {
				hide(p[n : n+copy(p[n:], packet)])
				n += packetLen
			}
		}
		switch {
		case n > 0:
			return n, nil
		case g.garbage > maxGarbage:
			return 0, fmt.Errorf("%w: %d bytes without a packet", ErrSyntax, maxGarbage)
		case g.ended != nil:
			return 0, g.ended
		}
		g.in = g.in[:copy(g.in, g.in[g.at:])]
		g.at = 0
		k, err := g.r.Read(g.in[len(g.in):cap(g.in)])
		g.in = g.in[:len(g.in)+k]
		if k == 0 && err != nil {
			g.ended = err
		}
	}
}

// look counts a packet. again: the library is not to have it, as one that came already, which each may (ISO/IEC
// 13818-1, section 2.4.3.3), and which the library would take for a sign that others are missing; one of a table
// longer than there are, of which it reads all again with each packet; or one of which no unit has begun.
func (g *guard) look(packet []byte) (again bool, err error) {
	if g.probing >= 0 {
		if g.probing -= packetLen; g.probing < 0 {
			return false, fmt.Errorf("%w: %d bytes came, and the tracks are not known", ErrSyntax, probeBytes)
		}
	}
	pid := uint16(packet[1]&0x1f)<<8 | uint16(packet[2])
	const nothing = 0x1fff
	if pid == nothing {
		return false, nil
	}
	if packet[3]&0xc0 != 0 && g.scrambled != nil {
		g.scrambled(pid)
	}
	if p := payload(packet); len(p) > 0 {
		mark := maphash.Bytes(g.seed, p) + uint64(packet[3]&15)
		if before, ok := g.latest[pid]; ok && before == mark {
			return true, nil
		}
		g.latest[pid] = mark
	}
	if packet[1]&0x40 != 0 { // a unit begins
		if _, ok := g.units[pid]; !ok && len(g.units) == maxPIDs {
			return false, fmt.Errorf("%w: more than %d streams in one", ErrSyntax, maxPIDs)
		}
		g.total -= g.units[pid].bytes
		g.units[pid] = unit{counter: packet[3] & 15, media: bytes.HasPrefix(payload(packet), []byte{0, 0, 1})}
	}
	u, ok := g.units[pid]
	if !ok {
		// What has no beginning is no picture, sound or table: the rest of one that began before the stream did, or
		// data that has no units, of which the library would keep all.
		return true, nil
	}
	if u.media && g.media != nil {
		g.media(len(payload(packet)))
	}
	u.bytes += packetLen
	g.total += packetLen
	most := g.limit + g.limit/8 + 16<<10    // with the headers of its packets
	if u.bytes > most || g.total > 2*most { // pictures of one stream, and little of all others
		if g.probing >= 0 {
			return false, fmt.Errorf("%w: something above %d bytes came, and the tracks are not known", ErrSyntax, g.limit)
		}
		return false, fmt.Errorf("%w: above %d bytes", ErrTooLong, g.limit)
	}
	g.units[pid] = u
	return g.tables[pid] && u.bytes > maxTable, g.report()
}

// payload is what a packet has behind its header and adaptation field.
func payload(packet []byte) []byte {
	at := 4
	if packet[3]&0x20 != 0 {
		at += 1 + int(packet[4])
	}
	if packet[3]&0x10 == 0 || at > len(packet) {
		return nil
	}
	return packet[at:]
}

// holdStep is in which steps, in bytes, Options.Hold is called.
const holdStep = 64 << 10

// report calls Options.Hold when what is collected has become more, or nearly nothing.
func (g *guard) report() error {
	n := g.total / holdStep * holdStep
	if g.hold == nil || n == g.holding || n > 0 && n < g.holding {
		return nil
	}
	g.holding = n
	return g.hold(n)
}
