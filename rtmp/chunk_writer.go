package rtmp

import (
	"encoding/binary"
	"fmt"

	sluice "github.com/sluice-go/sluice"
)

// ChunkWriter cuts messages into chunks (specification, section 5.3). Payloads
// are gathered, not copied, unless they are short. Headers are as short as
// what was sent before on the same chunk stream allows.
//
// A ChunkWriter belongs to one goroutine at a time.
type ChunkWriter struct {
	w         *sluice.BufWriter
	chunkSize int
	// head is where headers are made: an array of a function would escape to
	// the heap.
	head [MaxChunkHeader + longestReply]byte
	last [8]sent
}

// sent is the last header on a chunk stream.
type sent struct {
	typ      MessageType
	streamID uint32
	time     uint32
	delta    uint32
	length   int
	state    sentState
}

type sentState uint8

const (
	sentNothing sentState = iota
	sentFull              // format 0: a format 3 behind it would repeat the time itself, which not all peers do
	sentDelta
)

// NewChunkWriter returns a writer of chunks to w, which it uses and does not
// own. The caller flushes w.
func NewChunkWriter(w *sluice.BufWriter) *ChunkWriter {
	if w == nil {
		panic("rtmp: NewChunkWriter(nil)")
	}
	return &ChunkWriter{w: w, chunkSize: InitialChunkSize}
}

// ChunkSize returns the chunk size in force, in bytes.
func (c *ChunkWriter) ChunkSize() int { return c.chunkSize }

// SetChunkSize tells the peer the chunk size of what follows, in bytes, 1 to
// MaxChunkSize. Another panics.
func (c *ChunkWriter) SetChunkSize(n int) error {
	if n < 1 || n > MaxChunkSize {
		panic(fmt.Sprintf("rtmp: chunk size %d, want 1 to %d", n, MaxChunkSize))
	}
	if c.w == nil {
		panic("rtmp: ChunkWriter that NewChunkWriter has not made")
	}
	if err := c.writeControl(TypeSetChunkSize, uint32(n)); err != nil {
		return err
	}
	c.chunkSize = n
	return nil
}

// WriteMessage writes m, transferred: its payload is released when it is out,
// or when that failed. A message without ChunkStream gets that of its type. It
// does not flush. A payload longer than MaxMessageLength panics.
func (c *ChunkWriter) WriteMessage(m Message) error {
	if c.w == nil {
		panic("rtmp: ChunkWriter that NewChunkWriter has not made")
	}
	if m.ChunkStream == 0 {
		m.ChunkStream = chunkStreamOf(m.Type)
	}
	n := len(m.bytes())
	head := c.header(&m, n)
	if _, err := c.w.Write(head); err != nil {
		m.Release()
		return err
	}
	if n <= c.chunkSize {
		if n == 0 {
			m.Release()
			return nil
		}
		return c.w.WriteBuf(m.Payload)
	}
	return c.writeCut(&m, n, len(head))
}

// copyChunk is the chunk length up to which the bytes of a message are copied:
// BufWriter copies pieces as short as that in any case.
const copyChunk = 512

// writeCut writes a payload of n bytes that needs several chunks. The header
// of headLen bytes is out.
func (c *ChunkWriter) writeCut(m *Message, n, headLen int) error {
	var at uint32
	if c.extends(m, headLen) {
		at = m.Time
	}
	for i := 0; ; {
		j := min(i+c.chunkSize, n)
		var err error
		switch {
		case j-i <= copyChunk:
			_, err = c.w.Write(m.Payload.Bytes()[i:j])
		case j == n && i == 0:
			return c.w.WriteBuf(m.Payload)
		default:
			err = c.w.WriteBuf(m.Payload.RetainedSlice(i, j))
		}
		if i = j; err == nil && i < n {
			_, err = c.w.Write(AppendContinuation(c.head[:0], m.ChunkStream, at))
		}
		if err != nil || i == n {
			m.Release()
			return err
		}
	}
}

// extends reports whether the header that was made for m has an extended
// timestamp: only those of format 0 ever do.
func (c *ChunkWriter) extends(m *Message, headLen int) bool {
	return m.Time >= extended && headLen >= 1+headerLen[0]+4
}

// header makes the header of m's first chunk, in the shortest format.
func (c *ChunkWriter) header(m *Message, n int) []byte {
	dst := c.head[:0]
	if m.ChunkStream >= uint32(len(c.last)) {
		return AppendChunkHeader(dst, m.ChunkStream, m.Type, m.StreamID, m.Time, n)
	}
	last := &c.last[m.ChunkStream]
	// A difference of half the range or more is a time that went back.
	delta := m.Time - last.time
	if last.state == sentNothing || last.streamID != m.StreamID || delta >= extended {
		*last = sent{typ: m.Type, streamID: m.StreamID, time: m.Time, length: n, state: sentFull}
		return AppendChunkHeader(dst, m.ChunkStream, m.Type, m.StreamID, m.Time, n)
	}
	if n > MaxMessageLength {
		panic(fmt.Sprintf("rtmp: message of %d bytes, at most %d", n, MaxMessageLength))
	}
	format := byte(1)
	if last.typ == m.Type && last.length == n {
		format = 2
		if last.state == sentDelta && last.delta == delta {
			format = 3
		}
	}
	*last = sent{typ: m.Type, streamID: m.StreamID, time: m.Time, delta: delta, length: n, state: sentDelta}
	dst = appendBasicHeader(dst, format, m.ChunkStream)
	if format < 3 {
		dst = append(dst, byte(delta>>16), byte(delta>>8), byte(delta))
	}
	if format < 2 {
		dst = append(dst, byte(n>>16), byte(n>>8), byte(n), byte(m.Type))
	}
	return dst
}

// longestReply is the longest payload that writeControl makes: a user control
// event with two numbers.
const longestReply = 10

// writeControl writes a protocol control message of one number (sections 5.4
// and 6.2). It allocates nothing.
func (c *ChunkWriter) writeControl(typ MessageType, v uint32) error {
	return c.writeShort(typ, binary.BigEndian.AppendUint32(c.payload(), v))
}

// writeBandwidth writes a Set Peer Bandwidth message of the dynamic kind, which
// leaves a limit that is in force alone (section 5.4.5).
func (c *ChunkWriter) writeBandwidth(size uint32) error {
	const dynamic = 2
	return c.writeShort(TypeSetPeerBandwidth, append(binary.BigEndian.AppendUint32(c.payload(), size), dynamic))
}

// writeEvent writes a user control message (section 6.2).
func (c *ChunkWriter) writeEvent(e Event, v ...uint32) error {
	p := binary.BigEndian.AppendUint16(c.payload(), uint16(e))
	for _, v := range v {
		p = binary.BigEndian.AppendUint32(p, v)
	}
	return c.writeShort(TypeUserControl, p)
}

// payload returns the room for a short payload, behind that for its header.
func (c *ChunkWriter) payload() []byte { return c.head[MaxChunkHeader:MaxChunkHeader] }

// writeShort writes p, which payload made, as a message of the connection.
// Each has a header of format 0: nothing that others write between them can
// change its meaning.
func (c *ChunkWriter) writeShort(typ MessageType, p []byte) error {
	c.last[ControlChunkStream] = sent{}
	dst := AppendChunkHeader(c.head[:0], ControlChunkStream, typ, 0, 0, len(p))
	// A chunk is brought together in front of the rest of the payload, which
	// is never reached: the room for a header is longer than this one.
	for len(p) > c.chunkSize {
		if _, err := c.w.Write(append(dst, p[:c.chunkSize]...)); err != nil {
			return err
		}
		p = p[c.chunkSize:]
		dst = AppendContinuation(c.head[:0], ControlChunkStream, 0)
	}
	_, err := c.w.Write(append(dst, p...))
	return err
}

// chunkStreamOf returns the chunk stream that messages of type t go on.
func chunkStreamOf(t MessageType) uint32 {
	switch t {
	case TypeAudio:
		return AudioChunkStream
	case TypeVideo, TypeAggregate:
		return VideoChunkStream
	case TypeDataAMF0, TypeDataAMF3:
		return DataChunkStream
	case TypeSetChunkSize, TypeAbort, TypeAcknowledgement, TypeUserControl, TypeWindowAckSize, TypeSetPeerBandwidth:
		return ControlChunkStream
	}
	return CommandChunkStream
}
