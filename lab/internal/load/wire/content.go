package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
)

const (
	lengthLen = 4  // of the length before a payload
	stampLen  = 16 // of the start of a payload, unique for each: see Content
)

// Content makes payloads. Each begins with a stamp: 4 bytes for the run, 4 for the
// connection and 8 for the request, big-endian; a shorter payload has the last bytes
// of the stamp. Behind the stamp all payloads have the same random bytes at the same
// offsets, so that only the stamp is made for each request. A Content is immutable,
// and may be used from any goroutine.
type Content struct {
	run    uint32
	random []byte // as long as the longest payload
}

// NewContent makes payloads of at most longest bytes.
func NewContent(seed uint64, run uint32, longest int) *Content {
	c := &Content{run: run, random: make([]byte, max(stampLen, longest))}
	var key [32]byte
	binary.BigEndian.PutUint64(key[:], seed)
	rand.NewChaCha8(key).Read(c.random)
	return c
}

func (c *Content) stamp(s *[stampLen]byte, r *Request) []byte {
	binary.BigEndian.PutUint32(s[:], c.run)
	binary.BigEndian.PutUint32(s[4:], r.Conn)
	binary.BigEndian.PutUint64(s[8:], r.Seq)
	return s[stampLen-min(r.Size, stampLen):]
}

// Append appends the payload of a request to dst.
func (c *Content) Append(dst []byte, r *Request) []byte {
	var s [stampLen]byte
	dst = append(dst, c.stamp(&s, r)...)
	return append(dst, c.random[min(r.Size, stampLen):r.Size]...)
}

// A framed is a payload, behind a 4-byte big-endian length or alone.
type framed struct {
	closed
	*Content
	before int // bytes before the payload: lengthLen, or none
	head   [lengthLen + stampLen]byte
	stamps [stampLen]byte
}

func (f *framed) Len(r *Request) int { return f.before + r.Size }

func (f *framed) Bytes(r *Request, off int) []byte {
	if head := f.start(r); off < len(head) {
		return head[off:]
	}
	return f.random[off-f.before : r.Size]
}

func (f *framed) start(r *Request) []byte {
	head := f.head[:0]
	if f.before > 0 {
		head = binary.BigEndian.AppendUint32(head, uint32(r.Size))
	}
	return append(head, f.stamp(&f.stamps, r)...)
}

// differs is where the first of the bytes p, which stand at off, is not what was sent; -1 where all are.
func (f *framed) differs(r *Request, p []byte, off int) int {
	for end := off + len(p); off < end; {
		sent := f.Bytes(r, off)
		n := min(len(p), len(sent))
		if !bytes.Equal(p[:n], sent[:n]) {
			for ; p[0] == sent[0]; off++ {
				p, sent = p[1:], sent[1:]
			}
			return off
		}
		off, p = off+n, p[n:]
	}
	return -1
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum is the CRC-32C of a request's payload.
func (f *framed) Sum(r *Request) uint32 {
	sum := crc32.Update(0, castagnoli, f.stamp(&f.stamps, r))
	if r.Size > stampLen {
		sum = crc32.Update(sum, castagnoli, f.random[stampLen:r.Size])
	}
	return sum
}

type echo struct {
	framed
	verify bool // compare the bytes
	got    int  // bytes of the reply that have come
}

func (e *echo) Reply(r *Request, p []byte) (int, Outcome, error) {
	length := e.Len(r)
	n := min(len(p), length-e.got)
	if e.got+n > r.Sent {
		return 0, Outcome{}, fmt.Errorf("%w: %d bytes came back of a request of which %d were sent", ErrReply, e.got+n, r.Sent)
	}
	switch {
	case e.verify:
		if at := e.differs(r, p[:n], e.got); at >= 0 {
			return 0, Outcome{}, fmt.Errorf("%w: byte %d of the %d that came back for request %d of connection %d is 0x%02x and not 0x%02x, which was sent",
				ErrReply, at, length, r.Seq, r.Conn, p[at-e.got], e.Bytes(r, at)[0])
		}
	case e.got < e.before:
		// Enough to notice that the two have lost step.
		var h [lengthLen]byte
		binary.BigEndian.PutUint32(h[:], uint32(r.Size))
		for i, b := range p[:min(n, lengthLen-e.got)] {
			if b != h[e.got+i] {
				return 0, Outcome{}, fmt.Errorf("%w: another length than the %d bytes of request %d of connection %d", ErrReply, r.Size, r.Seq, r.Conn)
			}
		}
	}
	if e.got += n; e.got < length {
		return n, Outcome{}, nil
	}
	e.got = 0
	return n, Outcome{Done: true, Payload: r.Size}, nil
}

type acked struct {
	framed
	number [8]byte
	got    int
}

func (a *acked) Reply(r *Request, p []byte) (int, Outcome, error) {
	n := copy(a.number[a.got:], p)
	if a.got += n; a.got < len(a.number) {
		return n, Outcome{}, nil
	}
	a.got = 0
	return n, Outcome{Done: true, Payload: r.Size}, nil
}

// Number is what the target acknowledged with.
func (a *acked) Number() uint64 { return binary.BigEndian.Uint64(a.number[:]) }
