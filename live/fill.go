package live

import (
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/rtmp"
)

// fill appends records from seq up to upto to b, in form f: up to limit bytes,
// but one record at least. It returns the number of the first that is not in b.
func (r *ring) fill(b *batch, f Form, seq, upto uint64, limit int) uint64 {
	from := r.place(seq)
	if b.records == 0 {
		b.came = r.at(seq).came
	}
	end := seq
	for end < upto && (end == seq || r.place(end+1)-from <= int64(limit)) {
		end++
	}
	if b.records == 0 {
		r.bodies.reclaim(from, r.place(end))
		if f == FormRTMP {
			r.chunks.reclaim(r.at(seq).chunk, r.at(end-1).chunk+1)
		}
	}
	b.records += int(end - seq)
	switch f {
	case FormRTMP:
		for ; seq < end; seq++ {
			r.fillChunks(b, r.at(seq))
			b.ends = append(b.ends, b.size)
		}
	case FormHop:
		for ; seq < end; seq++ {
			r.fillMarked(b, seq)
			b.ends = append(b.ends, b.size)
		}
	case FormWebSocket, FormChunked:
		b.frame(f, int(r.place(end)-from))
		b.whole = true
		r.bodies.cut(b, from, r.place(end))
	default:
		base := b.size
		r.bodies.cut(b, from, r.place(end))
		for ; seq < end; seq++ {
			b.ends = append(b.ends, base+int(r.place(seq+1)-from))
		}
	}
	return end
}

// fillChunks appends one record as RTMP chunks.
func (r *ring) fillChunks(b *batch, rec *record) {
	head := rec.chunk + int64(rec.header)
	r.chunks.cut(b, rec.chunk, head)
	at := rec.tag + flv.TagHeaderLen
	end := at + int64(rec.payload)
	for {
		n := min(end, at+rtmp.DefaultChunkSize)
		r.bodies.cut(b, at, n)
		if at = n; at == end {
			return
		}
		r.chunks.cut(b, head, head+int64(rec.more))
	}
}

// fillMarked appends one record with its mark, as one chunk.
func (r *ring) fillMarked(b *batch, seq uint64) {
	rec := r.at(seq)
	from, to := r.place(seq), r.place(seq+1)
	var mark []byte
	if m := r.mark(seq); m != (Mark{}) {
		mark = appendMark(make([]byte, 0, 96), m, rec.time)
	}
	b.add(append(appendChunk(nil, int(to-from)+len(mark), false), mark...))
	r.bodies.cut(b, from, to)
}
