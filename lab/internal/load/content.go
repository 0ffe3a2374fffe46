package load

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
)

const (
	lengthLen = 4  // of the length before a payload, in Frame and Ack
	ackLen    = 8  // of an acknowledgement
	stampLen  = 16 // of the start of a payload, unique for each: see content
)

// content makes the bytes of requests. A payload begins with a stamp: 4 bytes for the
// run, 4 for the connection and 8 for the request, big-endian; a shorter payload has
// the last bytes of the stamp. Behind the stamp all payloads have the same random
// bytes at the same offsets, so that only the stamp is made for each request. A content
// is immutable, and may be used from any goroutine.
type content struct {
	framed bool
	acked  bool
	run    uint32
	random []byte // as long as the longest payload
}

func newContent(p *Plan, run uint32) *content {
	c := &content{framed: p.Protocol != Echo, acked: p.Protocol == Ack, run: run, random: make([]byte, max(stampLen, p.Sizes.Max))}
	var seed [32]byte
	binary.BigEndian.PutUint64(seed[:], p.Seed)
	rand.NewChaCha8(seed).Read(c.random)
	return c
}

// wire is the length of a request on the wire.
func (c *content) wire(size int) int {
	if c.framed {
		return lengthLen + size
	}
	return size
}

// answer is the length of its answer.
func (c *content) answer(size int) int {
	if c.acked {
		return ackLen
	}
	return c.wire(size)
}

// headLen is the longest start of a request that differs between requests.
const headLen = lengthLen + stampLen

// head writes the length and the stamp of a request and returns how many bytes
// they have; dst has room for headLen.
func (c *content) head(dst []byte, conn uint32, seq uint64, size int) int {
	n := 0
	if c.framed {
		binary.BigEndian.PutUint32(dst, uint32(size))
		n = lengthLen
	}
	var s [stampLen]byte
	return n + copy(dst[n:], c.stamp(&s, conn, seq, size))
}

// stamp writes a stamp to s and returns what of it a payload has.
func (c *content) stamp(s *[stampLen]byte, conn uint32, seq uint64, size int) []byte {
	binary.BigEndian.PutUint32(s[:], c.run)
	binary.BigEndian.PutUint32(s[4:], conn)
	binary.BigEndian.PutUint64(s[8:], seq)
	return s[stampLen-min(size, stampLen):]
}

// write writes the bytes of a request from offset off on into dst, as many as fit, and
// returns how many.
func (c *content) write(dst []byte, conn uint32, seq uint64, size, off int) int {
	var h [headLen]byte
	n := 0
	head := c.head(h[:], conn, seq, size)
	if off < head {
		n = copy(dst, h[off:head])
		if off += n; off < head {
			return n
		}
	}
	return n + copy(dst[n:], c.rest(size, off))
}

// rest returns the bytes of a request from offset off on, which must not be
// within its head. They are borrowed without a time limit: they never change.
func (c *content) rest(size, off int) []byte {
	at := off
	if c.framed {
		at -= lengthLen
	}
	if at >= size {
		return nil
	}
	return c.random[at:size]
}

// matches reports whether p equals the bytes of a request from offset off on.
func (c *content) matches(p []byte, conn uint32, seq uint64, size, off int) bool {
	var h [headLen]byte
	head := c.head(h[:], conn, seq, size)
	if off < head {
		n := min(len(p), head-off)
		if !bytes.Equal(p[:n], h[off:off+n]) {
			return false
		}
		if p, off = p[n:], off+n; off < head {
			return true
		}
	}
	rest := c.rest(size, off)
	return len(p) <= len(rest) && bytes.Equal(p, rest[:len(p)])
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is the CRC-32C of a request's payload; s is a place to work in.
func (c *content) sum(s *[stampLen]byte, conn uint32, seq uint64, size int) uint32 {
	sum := crc32.Update(0, castagnoli, c.stamp(s, conn, seq, size))
	if size > stampLen {
		sum = crc32.Update(sum, castagnoli, c.random[stampLen:size])
	}
	return sum
}
