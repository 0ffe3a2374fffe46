package live

import (
	"time"

	"github.com/sluice-go/sluice/flv"
)

// StreamStats are a stream's figures. Totals count from its beginning.
type StreamStats struct {
	Publisher string // the publisher's name; empty when there is none
	Viewers   int

	FramesIn, BytesIn   int64 // tags and the bytes of their payloads
	FramesOut, BytesOut int64 // tags, and bytes on the wire without what TLS adds
	Dropped             int64 // tags that slow viewers were not sent
	Jumps               int64 // how often one was moved on to a key frame
	Evicted             int64 // viewers that were closed for being slow

	RingFrames int           // tags in the ring
	RingBytes  int           // their bytes
	RingMemory int           // memory that they keep
	RingTime   time.Duration // from the oldest to the newest

	GOPFrames int           // pictures in the latest complete group
	GOPBytes  int           // their payloads' bytes
	GOPTime   time.Duration // from its key frame to the next

	VideoConfig []byte // body of the video sequence header's tag, to be read only; nil without one
	AudioConfig []byte // the same for audio
	LastTime    uint32 // of the newest frame, ms
}

// Stats returns the stream's figures.
func (s *Stream) Stats() StreamStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.ring
	st := StreamStats{
		Viewers:  int(s.sent.viewers.Load()),
		FramesIn: s.received.frames, BytesIn: s.received.bytes,
		FramesOut: s.sent.frames.Load(), BytesOut: s.sent.bytes.Load(),
		Dropped: s.sent.dropped.Load(), Jumps: s.sent.jumps.Load(), Evicted: s.sent.evicted.Load(),
		RingFrames: int(r.next - r.first), RingMemory: int(r.memory()),
		GOPFrames: s.received.gop.frames, GOPBytes: s.received.gop.bytes, GOPTime: s.received.gop.length,
		VideoConfig: r.set.config(isVideo), AudioConfig: r.set.config(isAudio), LastTime: s.times.last,
	}
	if s.now != nil {
		st.Publisher = s.now.name
	}
	if r.next > r.first {
		st.RingBytes = int(r.bodies.end - r.at(r.first).tag)
		st.RingTime = time.Duration(r.at(r.next-1).came - r.at(r.first).came)
	}
	return st
}

// Headers calls yield with the stream's metadata and sequence headers as they
// are now: bodies of tags, to be read only. They never change, and may be kept.
func (s *Stream) Headers(yield func(flv.TagType, []byte)) {
	s.mu.Lock()
	set := s.ring.set
	s.mu.Unlock()
	set.each(yield)
}

// Newest returns the mark of the newest frame that has one; the zero Mark when there
// is none.
func (s *Stream) Newest() Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	for seq := s.ring.next; seq > s.ring.first; seq-- {
		if m := s.ring.mark(seq - 1); m != (Mark{}) {
			return m
		}
	}
	return Mark{}
}
