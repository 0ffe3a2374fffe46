package live

import (
	"encoding/binary"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

// A record describes one frame in the ring: where its bytes are, and their
// properties.
type record struct {
	tag     int64 // place of its FLV tag, or of the bare payload, in bodies
	chunk   int64 // place of its RTMP headers in chunks
	payload int32 // bytes
	time    uint32
	came    int64 // since the stream's beginning, ns
	header  uint8 // bytes of the first RTMP chunk header
	more    uint8 // bytes of the headers of the further chunks, which follow it
	kind    kind
	sets    int32    // bytes that the set takes which it has made, see ring.sets
	set     *headers // those in force before it
}

// ring holds the newest frames of a stream. It has no lock of its own.
type ring struct {
	records     []record // of which records[seq&mask] is the one numbered seq
	first, next uint64
	key         uint64 // the newest key frame's number, if it is in the ring
	set         *headers
	hasKey      bool
	bare, raw   bool  // payloads only; every one is a place to start at
	marked      bool  // frames have marks
	hasVideo    bool  // there was video, at any time
	hasMedia    bool  // there was a frame, at any time
	hasData     bool  // there was one of data, at any time
	mainTrack   track // of video: the first that there was
	keepFrom    int   // bytes from which on a frame stays in the memory that it came in

	// sets is what the sets of headers take that frames in the ring have made: each is kept up
	// to the next, and a publisher may make one with every frame of a few bytes.
	sets int64

	bodies segments // FLV tags, one after another
	chunks segments // RTMP chunk headers: frames themselves are taken from bodies

	marks []Mark // of the records, at the same places; nil before the first
}

func newRing(o StreamOptions, a *account) ring {
	return ring{
		bodies:  segments{alloc: o.Allocator, account: a},
		chunks:  segments{alloc: o.Allocator, account: a},
		records: make([]record, 16),
		set:     new(headers),
		bare:    o.bare(),
		raw:     o.Raw, keepFrom: keepFrom, marked: o.Marks,
	}
}

func (r *ring) at(seq uint64) *record { return &r.records[seq&uint64(len(r.records)-1)] }

// place is the place at which record seq begins: where the one before it ends.
func (r *ring) place(seq uint64) int64 {
	if seq == r.next {
		return r.bodies.end
	}
	return r.at(seq).tag
}

// setAt is the set in force before record seq, or before the next frame.
func (r *ring) setAt(seq uint64) *headers {
	if seq == r.next {
		return r.set
	}
	return r.at(seq).set
}

// push muxes a frame once, for all forms. p is borrowed until it returns; of a large one
// the ring takes a reference.
func (r *ring) push(typ flv.TagType, k kind, t track, at uint32, came int64, p mem.Buf) {
	if n := uint64(len(r.records)); r.next-r.first == n {
		grown := make([]record, 2*n)
		for seq := r.first; seq < r.next; seq++ {
			grown[seq&(2*n-1)] = *r.at(seq)
		}
		r.records = grown
	}
	seq := r.next
	rec := r.at(seq)
	*rec = record{
		tag: r.bodies.end, chunk: r.chunks.end, payload: int32(p.Len()),
		time: at, came: came, kind: k, set: r.set,
	}
	if r.bare {
		r.store(p)
		if r.raw {
			rec.kind |= isKey
		}
	} else {
		r.mux(rec, typ, p)
		r.follow(rec, k, t, p.Bytes())
	}
	r.next++
	if rec.kind&isKey != 0 {
		r.key, r.hasKey = seq, true
	}
}

// follow makes the set that is in force behind rec.
func (r *ring) follow(rec *record, k kind, t track, p []byte) {
	before, body := r.set, 0
	switch {
	case k&(isConfig|isMeta|isDetail) != 0:
		r.set, body = before.with(k, t, p), min(len(p), maxHeaderBytes)
	case k&isAudio != 0:
		r.set = before.without(t, p)
	}
	if r.set != before {
		rec.sets = int32(len(r.set.list)*headerSize + body)
		r.sets += int64(rec.sets)
		r.bodies.account.held.Add(int64(rec.sets))
	}
}

func (r *ring) mux(rec *record, typ flv.TagType, p mem.Buf) {
	n := p.Len()
	size := flv.TagHeaderLen + n
	if n < r.keepFrom {
		tag := r.bodies.grow(size + flv.PrevTagSizeLen)
		flv.TagHeader{Type: typ, Size: n, Time: rec.time}.Append(tag[:0])
		copy(tag[flv.TagHeaderLen:], p.Bytes())
		binary.BigEndian.PutUint32(tag[size:], uint32(size))
	} else {
		flv.TagHeader{Type: typ, Size: n, Time: rec.time}.Append(r.bodies.grow(flv.TagHeaderLen)[:0])
		r.bodies.adopt(p.Retain())
		binary.BigEndian.PutUint32(r.bodies.grow(flv.PrevTagSizeLen), uint32(size))
	}

	var room [32]byte
	head := rtmp.AppendChunkHeader(room[:0], chunkStream(typ), rtmp.MessageType(typ), playStream, rec.time, n)
	rec.header = uint8(len(head))
	if n > rtmp.DefaultChunkSize {
		head = rtmp.AppendContinuation(head, chunkStream(typ), rec.time)
		rec.more = uint8(len(head)) - rec.header
	}
	copy(r.chunks.grow(len(head)), head)
}

// store appends a bare payload.
func (r *ring) store(p mem.Buf) {
	if p.Len() < r.keepFrom {
		copy(r.bodies.grow(p.Len()), p.Bytes())
		return
	}
	r.bodies.adopt(p.Retain())
}

// trim drops what is out of the bounds, backlog being that of time before the newest key
// frame, most that of memory, and now the stream's clock.
func (r *ring) trim(o *StreamOptions, backlog time.Duration, most int64, now int64) {
	first := r.first
	for first+1 < r.next {
		rec := r.at(first)
		age := time.Duration(now - rec.came)
		kept := age <= backlog || !o.NoGOP && r.hasKey && first >= r.key && age <= o.GOPTime
		if kept && r.next-first <= uint64(o.GOPFrames) && r.bodies.end-rec.tag <= int64(o.GOPBytes) {
			break
		}
		first++
	}
	r.begin(first)
	for r.memory() > most && r.first+1 < r.next {
		r.begin(r.first + 1)
	}
}

// begin lets go of the frames before seq.
func (r *ring) begin(seq uint64) {
	if seq == r.first {
		return
	}
	r.forget(seq)
	if r.hasKey && r.key < seq {
		r.hasKey = false
	}
	r.bodies.trim(r.at(seq).tag)
	r.chunks.trim(r.at(seq).chunk)
}

// empty lets go of all frames.
func (r *ring) empty() {
	r.bodies.drop()
	r.chunks.drop()
	r.forget(r.next)
	r.hasKey = false
}

// forget lets go of the sets that the records before seq have, which is the first from now on.
func (r *ring) forget(seq uint64) {
	sets := int64(0)
	for ; r.first < seq; r.first++ {
		rec := r.at(r.first)
		sets += int64(rec.sets)
		rec.set = nil
	}
	if sets > 0 {
		r.sets -= sets
		r.bodies.account.held.Add(-sets)
	}
}

// memory is how many bytes of memory the frames take, and the sets of headers that they have made.
func (r *ring) memory() int64 { return r.bodies.held + r.chunks.held + r.sets }

// classify is classify for a frame of this stream: a key frame of a track
// beside the main one is no place to start at.
func (r *ring) classify(typ flv.TagType, p []byte) (kind, track) {
	k, t := classify(typ, p)
	if k&isVideo != 0 {
		switch number := t &^ manyTracks; {
		case !r.hasVideo:
			r.mainTrack = number
		case number != r.mainTrack:
			k = k&^isKey | isSide
		}
		r.hasVideo = true
	}
	r.hasMedia = r.hasMedia || k.media()
	r.hasData = r.hasData || k.data()
	return k, t
}

// classifyPacket is classify for a stream of packets, whose publisher says what
// they are.
func (r *ring) classifyPacket(typ flv.TagType, key bool) kind {
	k := isAudio
	if typ == flv.TagVideo {
		k, r.hasVideo = isVideo, true
		if key {
			k |= isKey
		}
	}
	r.hasMedia = true
	return k
}

// mark is the mark of record seq.
func (r *ring) mark(seq uint64) Mark {
	if r.marks == nil {
		return Mark{}
	}
	return r.marks[seq&uint64(len(r.marks)-1)]
}

// setMark notes the mark of record seq, which was just pushed.
func (r *ring) setMark(seq uint64, m Mark) {
	if !r.marked {
		return
	}
	if len(r.marks) != len(r.records) {
		n := uint64(len(r.records))
		grown := make([]Mark, n)
		for old := r.first; r.marks != nil && old < seq; old++ {
			grown[old&(n-1)] = r.mark(old)
		}
		r.marks = grown
	}
	r.marks[seq&uint64(len(r.marks)-1)] = m
}

// byteRate is about how many bytes a second come, or 0 when that is not known.
func (r *ring) byteRate(now int64) float64 {
	if r.next == r.first {
		return 0
	}
	span := time.Duration(now - r.at(r.first).came)
	if span < time.Second/2 {
		return 0
	}
	return float64(r.bodies.end-r.at(r.first).tag) / span.Seconds()
}
