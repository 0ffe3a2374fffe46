package rtmp

// Resting is what has to be remembered of a connection of which no part of a message is
// at hand: some 150 bytes, where a Conn with its reader and its writer has 2,000. With
// it a server with many players needs Conns only for those that are saying something:
//
//	c.Rest(&s)             // the client is silent: c is free for another connection
//	c.Wake(&s)             // it has sent something: c, any Conn, goes on with it
//
// The zero Resting is ready for Rest. It belongs to one goroutine at a time.
type Resting struct {
	got, acked, window int64
	asked              uint32
	inChunk, outChunk  int32
	confined, omits    bool
	streams            []restingStream
}

// restingStream is a chunkStream without an unfinished message.
type restingStream struct {
	id, streamID, time, delta uint32
	length                    uint32
	typ                       MessageType
	extends                   bool
}

// Rest flushes replies that wait, moves the state of the connection to s, and reports
// whether that was possible: not while a part of a message has come, or a message
// waits to be returned; then c is as before. After it c is used no more until Wake.
//
// What the client said when it connected is forgotten: after Wake ReadMessage, Answer
// and what writes can be called, ReadRequest cannot.
func (c *Conn) Rest(s *Resting) bool {
	c.made()
	if c.r.Buffered() > 0 || c.in.cur != nil || c.in.open > 0 || c.parts.left() || c.unread.ok {
		return false
	}
	c.settle()
	c.awaitLate()
	c.lock()
	defer c.mu.Unlock()
	s.got, s.acked, s.window = c.r.TotalRead()-c.base, c.acked, c.window
	s.asked, s.outChunk = c.asked, int32(c.out.chunkSize)
	c.in.rest(s)
	return true
}

// Wake makes c the Conn of the connection that s is of. The reader and the writer that c
// was made with have been Reset for it since, and nothing was read.
func (c *Conn) Wake(s *Resting) {
	if s.inChunk == 0 {
		panic("rtmp: Conn.Wake with a Resting that Rest has not filled")
	}
	c.lock()
	defer c.mu.Unlock()
	c.base, c.acked, c.window = c.r.TotalRead()-s.got, s.acked, s.window
	c.asked, c.owed, c.pending = s.asked, false, 0
	c.late.shared.Store(false)
	c.server, c.client, c.peer = serverSession{}, clientSession{}, Capabilities{}
	c.out.chunkSize = int(s.outChunk)
	clear(c.out.last[:]) // the next header on each chunk stream is a whole one
	c.in.wake(s)
}

func (c *ChunkReader) rest(s *Resting) {
	s.inChunk, s.confined, s.omits = int32(c.chunkSize), c.confined, c.omits
	if n := len(c.streams); cap(s.streams) < n {
		s.streams = make([]restingStream, 0, n)
	}
	s.streams = s.streams[:0]
	for id, cs := range c.streams {
		s.streams = append(s.streams, restingStream{
			id: id, streamID: cs.streamID, time: cs.time, delta: cs.delta, length: uint32(cs.length), typ: cs.typ, extends: cs.extends,
		})
		c.spare = append(c.spare, cs)
	}
	clear(c.streams)
	c.recent = nil
}

func (c *ChunkReader) wake(s *Resting) {
	c.chunkSize, c.confined, c.omits = int(s.inChunk), s.confined, s.omits
	for _, r := range s.streams {
		cs := c.stream(r.id)
		cs.typ, cs.streamID, cs.time, cs.delta, cs.extends = r.typ, r.streamID, r.time, r.delta, r.extends
		cs.length, cs.known = int(r.length), true
	}
}
