package relay

import (
	"encoding/binary"
	"fmt"
)

// rtmpSplit splits RTMP chunks of all formats (RTMP 1.0, 5.3.1), on chunk
// streams 2 to 63, after the handshake. Control messages and commands may stand
// between the chunks of another message, media may not.
type rtmpSplit struct {
	stash
	look  bool // at the payload of media
	limit int  // of the peer's chunks
	left  int  // of this chunk's payload
	at    *chunkStream
	media *chunkStream // whose message of media is not complete
	open  [64]chunkStream
}

// A chunkStream is what the headers of one have said last.
type chunkStream struct {
	time, delta uint32
	length      int
	left        int // of the message under way
	kind        uint8
	extended    bool
	known       bool
	note        []byte
}

func newRTMPSplit() *rtmpSplit { return &rtmpSplit{limit: defaultChunk} }

func (r *rtmpSplit) feed(p []byte, to sink) error {
	// Bound once: a method value for each header would be an allocation.
	head := func(b []byte) (int, error) { return r.head(b, to) }
	for len(p) > 0 {
		if r.left > 0 {
			n := min(r.left, len(p))
			if err := r.pass(p[:n], to); err != nil {
				return err
			}
			p = p[n:]
			continue
		}
		used, _, err := r.take(p, head)
		if err != nil {
			return err
		}
		p = p[used:]
	}
	return nil
}

// head parses a chunk's header. With the first chunk of media it takes two bytes
// of the payload too.
func (r *rtmpSplit) head(b []byte, to sink) (int, error) {
	format, id := b[0]>>6, b[0]&63
	if id < 2 {
		return 0, fmt.Errorf("%w: a chunk stream above 63", ErrStream)
	}
	n := 1 + int([4]int{11, 7, 3, 0}[format])
	if len(b) < n {
		return 0, nil
	}
	c := &r.open[id]
	if format > 0 && !c.known {
		return 0, fmt.Errorf("%w: the first chunk of a chunk stream has format %d", ErrStream, format)
	}
	var time uint32
	long := c.extended
	if format < 3 {
		time = be24(b[1:])
		long = time == extended
	}
	if long {
		if len(b) < n+4 {
			return 0, nil
		}
		time = binary.BigEndian.Uint32(b[n:])
		n += 4
	}
	kind, length := c.kind, c.length
	if format < 2 {
		length, kind = int(be24(b[4:])), b[7]
	}
	if c.left > 0 {
		if format < 3 {
			return 0, fmt.Errorf("%w: a message begins before %d bytes of the last have come", ErrStream, c.left)
		}
		r.at, r.left = c, min(c.left, r.limit)
		return n, nil
	}
	ahead := 0
	if isMedia(kind) && length >= 2 {
		if ahead = 2; len(b) < n+ahead {
			return 0, nil
		}
	}
	c.known, c.extended, c.kind, c.length, c.left = true, long, kind, length, length
	switch format {
	case 0:
		c.time, c.delta = time, time
	case 1, 2:
		c.delta = time
		c.time += time
	default:
		c.time += c.delta
	}
	r.at, r.left = c, min(length, r.limit)
	return n + ahead, r.begin(b[n:n+ahead], to)
}

// begin starts a message, with the first bytes of its payload where it is media.
func (r *rtmpSplit) begin(first []byte, to sink) error {
	c := r.at
	if len(first) == 2 {
		if r.media != nil {
			return fmt.Errorf("%w: a message of kind %d stands within one of kind %d", ErrStream, c.kind, r.media.kind)
		}
		r.media = c
		if err := to.started(c.kind, c.time, c.length, first[0], first[1]); err != nil {
			return err
		}
		return r.pass(first, to)
	}
	if !isMedia(c.kind) && c.length > mostNoted {
		return fmt.Errorf("%w: a message of kind %d with %d bytes", ErrStream, c.kind, c.length)
	}
	c.note = c.note[:0]
	if c.length == 0 && !isMedia(c.kind) {
		return to.noted(c.kind, nil)
	}
	return nil
}

// pass takes payload of the chunk under way.
func (r *rtmpSplit) pass(p []byte, to sink) error {
	c := r.at
	r.left -= len(p)
	c.left -= len(p)
	if isMedia(c.kind) {
		if c.length < 2 {
			return nil
		}
		if r.look {
			if err := to.passed(p); err != nil {
				return err
			}
		}
		if c.left == 0 {
			r.media = nil
			return to.ended()
		}
		return nil
	}
	c.note = append(c.note, p...)
	if c.left > 0 {
		return nil
	}
	if c.kind == kindChunkSize && len(c.note) == 4 {
		if r.limit = int(binary.BigEndian.Uint32(c.note)); r.limit < 2 || r.limit > 1<<24 {
			return fmt.Errorf("%w: chunks of %d bytes", ErrStream, r.limit)
		}
	}
	return to.noted(c.kind, c.note)
}
