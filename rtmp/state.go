package rtmp

import (
	"errors"
	"fmt"
)

// ErrState: the state of a connection that came from elsewhere cannot be right.
var ErrState = errors.New("rtmp: bad state")

// A ConnState is what another process needs to go on with a connection whose handshake is
// done: also in the middle of a message. Rest are bytes that were received and not consumed;
// the reader of the Conn that goes on is to have them first.
type ConnState struct {
	Got      int64       `json:"got"`             // bytes after the handshake, Rest included
	Acked    int64       `json:"acked"`           // of those, what the latest acknowledgement said
	Window   int64       `json:"window"`          // bytes after which the peer wants one; 0: none
	Asked    uint32      `json:"asked"`           // bytes after which the peer was asked for one
	InChunk  int         `json:"in_chunk"`        // chunk size in bytes of what comes
	OutChunk int         `json:"out_chunk"`       // and of what is sent
	Confined bool        `json:"confined"`        // no message may be longer than Limits.Command
	Omits    bool        `json:"omits,omitempty"` // the peer leaves extended timestamps out of headers of format 3
	Chunks   []ChunkPart `json:"chunks"`
	Inside   bool        `json:"inside"`  // the chunk of Current is being read
	Current  uint32      `json:"current"` // chunk stream
	Left     int         `json:"left"`    // bytes of that chunk to come
	Rest     []byte      `json:"rest,omitempty"`

	Connected bool     `json:"connected"` // what follows was said by the client
	Said      Request  `json:"said"`
	Queries   []string `json:"queries,omitempty"`
}

// A ChunkPart is one chunk stream, and the message on it that is not complete.
type ChunkPart struct {
	ID       uint32      `json:"id"`
	StreamID uint32      `json:"stream_id"`      // the message stream
	Time     uint32      `json:"time"`           // of the latest message, ms
	Delta    uint32      `json:"delta"`          // the latest timestamp field, ms, as a header of format 3 repeats it
	Length   int         `json:"length"`         // of the latest message, bytes
	Type     MessageType `json:"type"`           // its type
	Extends  bool        `json:"extends"`        // the latest timestamp field was extended
	Known    bool        `json:"known"`          // there was a header with a length
	Open     bool        `json:"open"`           // the latest message is not complete
	Have     []byte      `json:"have,omitempty"` // what has come of it
}

// State flushes replies that wait and returns the state of the connection, which goes on as
// before if it is not given away. It belongs to the goroutine that reads. It fails when
// replies cannot be sent, or inside of an aggregate message.
func (c *Conn) State() (s ConnState, err error) {
	if c.parts.left() || c.unread.ok {
		return s, fmt.Errorf("%w: part of a message waits", ErrState)
	}
	c.owed = false
	c.awaitLate()
	if err := c.Flush(); err != nil {
		return s, err
	}
	if n := c.r.Buffered(); n > 0 {
		s.Rest = make([]byte, 0, n)
		c.r.Mark()
		err := c.r.ReadRange(n, func(p []byte) { s.Rest = append(s.Rest, p...) })
		c.r.Rollback()
		if err != nil {
			return s, err
		}
	}
	c.lock()
	defer c.mu.Unlock()
	s.Got, s.Acked, s.Window, s.Asked = c.r.TotalRead()-c.base, c.acked, c.window, c.asked
	s.InChunk, s.OutChunk, s.Confined, s.Omits = c.in.chunkSize, c.out.chunkSize, c.in.confined, c.in.omits
	for id, cs := range c.in.streams {
		p := ChunkPart{ID: id, StreamID: cs.streamID, Time: cs.time, Delta: cs.delta, Length: cs.length, Type: cs.typ, Extends: cs.extends, Known: cs.known, Open: cs.open}
		if cs.slab.Valid() && cs.have > 0 {
			p.Have = append(p.Have, cs.slab.Bytes()[:cs.have]...)
		}
		s.Chunks = append(s.Chunks, p)
	}
	if cur := c.in.cur; cur != nil {
		s.Inside, s.Current, s.Left = true, cur.id, c.in.left
	}
	s.Connected, s.Said, s.Queries = c.server.connected, c.server.said, c.server.queries
	s.Said.Connect = nil
	return s, nil
}

// State returns the state of a connection that rests.
func (s *Resting) State() ConnState {
	st := ConnState{
		Got: s.got, Acked: s.acked, Window: s.window, Asked: s.asked,
		InChunk: int(s.inChunk), OutChunk: int(s.outChunk), Confined: s.confined, Omits: s.omits,
	}
	for _, r := range s.streams {
		st.Chunks = append(st.Chunks, ChunkPart{
			ID: r.id, StreamID: r.streamID, Time: r.time, Delta: r.delta, Length: int(r.length), Type: r.typ, Extends: r.extends, Known: true,
		})
	}
	return st
}

// Restore makes c, which is new, go on with a connection. Its reader has s.Rest, and
// nothing was read from it. An error matches ErrState; then c is of no use.
func (c *Conn) Restore(s *ConnState) error {
	c.made()
	wrong := func(what string, n int) error { return fmt.Errorf("%w: %s %d", ErrState, what, n) }
	l := c.in.limits
	switch {
	case c.r.Buffered() != len(s.Rest):
		return wrong("bytes at hand are not", len(s.Rest))
	case s.InChunk < 1 || s.InChunk > MaxChunkSize:
		return wrong("chunks of", s.InChunk)
	case s.OutChunk < 1 || s.OutChunk > MaxChunkSize:
		return wrong("own chunks of", s.OutChunk)
	case len(s.Chunks) > l.ChunkStreams:
		return wrong("chunk streams:", len(s.Chunks))
	case s.Got < int64(len(s.Rest)) || s.Acked > s.Got || s.Window < 0:
		return wrong("bytes received:", int(s.Got))
	}
	c.lock()
	defer c.mu.Unlock()
	c.base, c.acked, c.window, c.asked = c.r.TotalRead()-s.Got, s.Acked, s.Window, s.Asked
	c.in.chunkSize, c.in.confined, c.in.omits, c.out.chunkSize = s.InChunk, s.Confined, s.Omits, s.OutChunk
	for i := range s.Chunks {
		p := &s.Chunks[i]
		if c.in.streams[p.ID] != nil || p.Length < 0 || p.Length > l.of(p.Type) || len(p.Have) > p.Length || len(p.Have) > 0 && !p.Open {
			return wrong("chunk stream", int(p.ID))
		}
		if err := c.in.restore(p); err != nil {
			return err
		}
	}
	if s.Inside {
		cs := c.in.streams[s.Current]
		if cs == nil || !cs.open || s.Left < 0 || s.Left > min(cs.length-cs.have, c.in.chunkSize) {
			return wrong("the current chunk stream", int(s.Current))
		}
		c.in.cur, c.in.left = cs, s.Left
	}
	c.server = serverSession{connected: s.Connected, said: s.Said, queries: s.Queries}
	c.peer = s.Said.Capabilities
	return nil
}

func (c *ChunkReader) restore(p *ChunkPart) error {
	cs := c.stream(p.ID)
	cs.typ, cs.streamID, cs.time, cs.delta, cs.extends = p.Type, p.StreamID, p.Time, p.Delta, p.Extends
	cs.length, cs.known, cs.open = p.Length, p.Known, p.Open
	if cs.open {
		c.open++
	}
	n := len(p.Have)
	if n == 0 {
		return nil
	}
	if c.unfinished+n > c.limits.Unfinished {
		return fmt.Errorf("%w: unfinished messages of %d bytes", ErrState, c.unfinished+n)
	}
	slab, err := c.alloc.TrySlab(min(max(firstGather, n), cs.length))
	if err != nil {
		return err
	}
	cs.slab, cs.have = slab, n
	copy(slab.Bytes(), p.Have)
	c.keep(len(slab.Bytes()))
	c.unfinished += n
	return nil
}
