package live

import (
	"encoding/binary"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

// shareFrom is the size from which on a header's bytes are sent from where they lie, and not copied: of
// a greeting with the headers that a stream may have, each viewer who is slow would hold half a megabyte.
const shareFrom = 1 << 10

// A greeting is what is put together of headers.
type greeting struct {
	batch
	small []byte // behind what is in the batch
}

// body appends a header's body, or a part of it, which never changes.
func (g *greeting) body(p []byte) {
	if len(p) < shareFrom {
		g.small = append(g.small, p...)
		return
	}
	g.settle()
	g.own(mem.Wrap(p, nil))
}

// settle puts what is small into the batch.
func (g *greeting) settle() {
	g.add(g.small)
	g.small = nil
}

// greet appends what a viewer has to have before a frame with time at: the
// beginning of an FLV file with the newest headers if it is the first, and the headers in set. Sequence
// headers are at the same time, so that there is no hole; metadata is at 0, or
// ffmpeg takes it for subtitles.
func (t *batch) greet(f Form, newest, set *headers, at uint32, first bool) {
	var g greeting
	if first && (f == FormFLV || f == FormWebSocket || f.chunked()) {
		h := flv.Header{Audio: newest.config(isAudio) != nil, Video: newest.config(isVideo) != nil}
		if !h.Audio && !h.Video {
			h.Audio, h.Video = true, true
		}
		g.small = append(h.Append(nil), 0, 0, 0, 0)
	}
	if f == FormRaw {
		return
	}
	set.each(func(typ flv.TagType, body []byte) {
		at := at
		if typ == flv.TagScript {
			at = 0
		}
		if f == FormRTMP {
			g.chunks(typ, body, at)
			return
		}
		g.small = flv.TagHeader{Type: typ, Size: len(body), Time: at}.Append(g.small)
		g.body(body)
		g.small = binary.BigEndian.AppendUint32(g.small, uint32(flv.TagHeaderLen+len(body)))
	})
	g.settle()
	switch {
	case g.size == 0:
	case f == FormWebSocket:
		t.add(appendFrame(nil, g.size))
	case f.chunked():
		t.add(appendChunk(nil, g.size, first))
	}
	t.append(&g.batch)
}

// chunks appends a header as RTMP chunks.
func (g *greeting) chunks(typ flv.TagType, body []byte, at uint32) {
	g.small = rtmp.AppendChunkHeader(g.small, chunkStream(typ), rtmp.MessageType(typ), playStream, at, len(body))
	for len(body) > rtmp.DefaultChunkSize {
		g.body(body[:rtmp.DefaultChunkSize])
		g.small = rtmp.AppendContinuation(g.small, chunkStream(typ), at)
		body = body[rtmp.DefaultChunkSize:]
	}
	g.body(body)
}
