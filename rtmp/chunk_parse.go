package rtmp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sluice-go/sluice/mem"
)

// ReadMessage returns the next message that is complete, its payload retained.
// io.EOF says that the stream ended between messages.
func (c *ChunkReader) ReadMessage() (Message, error) {
	if c.r == nil {
		panic("rtmp: ChunkReader that NewChunkReader has not made")
	}
	var m Message
	for {
		done, err := c.readChunk(&m)
		if err != nil {
			return Message{}, err
		}
		if done {
			return m, nil
		}
	}
}

// readChunk reads one chunk, or the rest of it, and reports whether it
// completed a message, which is then m.
func (c *ChunkReader) readChunk(m *Message) (bool, error) {
	if c.cur == nil {
		if err := c.header(); err != nil {
			return false, err
		}
	}
	cs := c.cur
	var payload mem.Buf
	if cs.have == 0 && c.left == cs.length {
		var err error
		if payload, err = c.whole(cs); err != nil {
			return false, err
		}
	} else {
		if err := c.gather(cs); err != nil {
			return false, err
		}
		if cs.have < cs.length {
			c.cur = nil
			return false, nil
		}
		payload = c.take(cs)
	}
	c.cur, c.left = nil, 0
	c.close(cs)
	c.letGo()
	*m = Message{Type: cs.typ, ChunkStream: cs.id, StreamID: cs.streamID, Time: cs.time, Payload: payload}
	switch cs.typ {
	case TypeSetChunkSize, TypeAbort:
		err := c.control(cs.typ, payload.Bytes())
		m.Release()
		return false, err
	}
	return true, nil
}

// whole returns a message that lies in one chunk.
func (c *ChunkReader) whole(cs *chunkStream) (mem.Buf, error) {
	if err := c.roomFor(cs, cs.length); err != nil {
		return mem.Buf{}, err
	}
	if err := c.hold(c.held + cs.length); err != nil {
		return mem.Buf{}, err
	}
	payload, err := c.r.ReadBuf(cs.length)
	if err != nil {
		return mem.Buf{}, inside(err)
	}
	return payload, nil
}

// header reads a chunk's header and consumes it when all of it is there and
// right (section 5.3.1).
func (c *ChunkReader) header() error {
	p, err := c.r.Peek(1)
	if err != nil {
		if errors.Is(err, io.EOF) && c.open > 0 {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	format, id, n := p[0]>>6, uint32(p[0]&63), 1
	if id < 2 {
		n = 2 + int(id)
		if p, err = c.r.Peek(n); err != nil {
			return inside(err)
		}
		if id = 64 + uint32(p[1]); n == 3 {
			id += uint32(p[2]) << 8
		}
	}
	cs := c.find(id)
	if cs == nil {
		if len(c.streams) >= c.limits.ChunkStreams {
			return fmt.Errorf("%w: chunk stream %d is more than %d", ErrTooMany, id, c.limits.ChunkStreams)
		}
		if format > 1 {
			return fmt.Errorf("%w: chunk stream %d begins with a header of format %d", ErrProtocol, id, format)
		}
	} else if cs.open && format < 3 {
		return fmt.Errorf("%w: chunk stream %d: a header of format %d inside a message", ErrProtocol, id, format)
	} else if !cs.known && format > 1 {
		return fmt.Errorf("%w: chunk stream %d has no message length", ErrProtocol, id)
	}
	if format == 3 {
		return c.repeated(cs, n)
	}
	return c.announced(cs, format, id, n)
}

// find returns the chunk stream with that id, or nil. Mostly it is that of the header
// before: a look into the map is three lines of cache, which a server with many
// publishers would have to fetch for each.
func (c *ChunkReader) find(id uint32) *chunkStream {
	if cs := c.recent; cs != nil && cs.id == id {
		return cs
	}
	cs := c.streams[id]
	c.recent = cs
	return cs
}

// announced reads a message header of format 0, 1 or 2, behind n bytes of basic
// header.
func (c *ChunkReader) announced(cs *chunkStream, format byte, id uint32, n int) error {
	all := n + headerLen[format]
	p, err := c.r.Peek(all)
	if err != nil {
		return inside(err)
	}
	h := p[n:]
	field := be24(h)
	extends := field == extended
	if extends {
		all += 4
		if p, err = c.r.Peek(all); err != nil {
			return inside(err)
		}
		h = p[n:]
		field = binary.BigEndian.Uint32(p[all-4:])
	}
	if format < 2 {
		length, typ := int(be24(h[3:])), MessageType(h[6])
		limit := c.limits.of(typ)
		if c.confined {
			limit = min(limit, c.limits.Command)
		}
		if length > limit {
			return &LengthError{id, typ, length, limit}
		}
		if cs == nil {
			cs = c.stream(id)
		}
		cs.length, cs.typ, cs.known = length, typ, true
		if format == 0 {
			cs.streamID = binary.LittleEndian.Uint32(h[7:])
			cs.time = 0
		}
	}
	cs.time += field
	cs.delta, cs.extends = field, extends
	_ = c.r.Skip(all)
	c.begin(cs)
	return nil
}

// repeated reads a header of format 3, which goes on with the message in hand
// or begins one like the last. When the last timestamp was extended it should
// be repeated here (section 5.3.1.3), and some peers do not: those four bytes
// are then the payload's. Others (gortmplib 1.0.1, so mediamtx) write zeros. What
// is there decides; a payload looks like the timestamp once in 2^32 times. One that
// begins with zeros is more likely, so those are a payload's once the peer has been
// seen to leave a timestamp out.
func (c *ChunkReader) repeated(cs *chunkStream, n int) error {
	all := n
	if cs.extends {
		there, err := c.repeats(n, cs.delta, cs.time)
		if err != nil {
			return err
		}
		if there {
			all += 4
		}
	}
	if !cs.open {
		cs.time += cs.delta
	}
	_ = c.r.Skip(all)
	c.begin(cs)
	return nil
}

// repeats reports whether the 4 bytes behind the n of the basic header are one
// of two timestamps, that of the header or, as some peers repeat it, that of the
// message, or are zero in place of one. It waits for no more bytes than it takes
// to tell.
func (c *ChunkReader) repeats(n int, a, b uint32) (bool, error) {
	var want [3][4]byte
	binary.BigEndian.PutUint32(want[0][:], a)
	binary.BigEndian.PutUint32(want[1][:], b)
	some := want[:]
	if c.omits {
		some = want[:2]
	}
	for i := 1; i <= 4; i++ {
		p, err := c.r.Peek(n + i)
		if err != nil {
			// At the end of the stream fewer bytes than a timestamp are no
			// timestamp.
			if errors.Is(err, io.EOF) {
				return false, nil
			}
			return false, err
		}
		got := string(p[n : n+i])
		if !slices.ContainsFunc(some, func(w [4]byte) bool { return got == string(w[:i]) }) {
			c.omits = true
			return false, nil
		}
	}
	return true, nil
}

// begin makes the chunk whose header was read the one in hand.
func (c *ChunkReader) begin(cs *chunkStream) {
	if !cs.open {
		cs.open = true
		c.open++
	}
	c.cur, c.left = cs, min(cs.length-cs.have, c.chunkSize)
}

// control follows a message that changes how chunks are read (sections 5.4.1
// and 5.4.2).
func (c *ChunkReader) control(typ MessageType, p []byte) error {
	if len(p) < 4 {
		return fmt.Errorf("%w: %v of %d bytes", ErrProtocol, typ, len(p))
	}
	v := binary.BigEndian.Uint32(p)
	if typ == TypeAbort {
		if cs := c.streams[v]; cs != nil {
			c.drop(cs)
			c.letGo()
		}
		return nil
	}
	if v == 0 || v > MaxChunkSize {
		return fmt.Errorf("%w: chunk size %d, want 1 to %d", ErrProtocol, v, MaxChunkSize)
	}
	c.chunkSize = int(v)
	return nil
}

// Recycle releases what unfinished messages hold. The reader is used no more.
func (c *ChunkReader) Recycle() {
	for _, cs := range c.streams {
		c.drop(cs)
	}
	clear(c.streams)
	c.cur, c.left, c.recent = nil, 0, nil
	c.letGo()
}
