package ingest

import (
	"bytes"
	"encoding/binary"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

// AMF0 strings as they stand at the beginning of a data message: a marker, two
// bytes of length, the name (AMF0, section 2.4). Messages with these names are
// for the receiver and not part of the stream.
var (
	sampleAccess = []byte("\x02\x00\x11|RtmpSampleAccess")
	onStatus     = []byte("\x02\x00\x08onStatus")
	clearFrame   = []byte("\x02\x00\x0f@clearDataFrame")
)

// Frame converts m into a frame. The payload of m is transferred, also when Frame
// reports false: then the message is empty or does not belong to a stream, and is
// released. A data message becomes the body of a script tag.
func Frame(m rtmp.Message) (f live.Frame, ok bool) {
	switch m.Type {
	case rtmp.TypeAudio:
		f.Type = flv.TagAudio
	case rtmp.TypeVideo:
		f.Type = flv.TagVideo
	case rtmp.TypeDataAMF0:
		f.Type = flv.TagScript
	default:
		m.Release()
		return live.Frame{}, false
	}
	if !m.Payload.Valid() {
		return live.Frame{}, false
	}
	if f.Type == flv.TagScript && !Script(&m.Payload) || m.Payload.Len() == 0 {
		m.Payload.Release()
		return live.Frame{}, false
	}
	f.Time = m.Time
	f.Payload = m.Payload //sluice:moved m is this function's, and ends here
	return f, true
}

// Script removes from b, script data, which stays the caller's, the command @setDataFrame before its name.
// It reports false when the data does not belong to a stream: it is for the receiver, or in AMF3.
func Script(b *mem.Buf) bool {
	p := b.Bytes()
	if bytes.HasPrefix(p, sampleAccess) || bytes.HasPrefix(p, onStatus) || bytes.HasPrefix(p, clearFrame) {
		return false
	}
	if rest := flv.StripSetDataFrame(p); len(rest) < len(p) {
		cut(b, len(p)-len(rest))
	}
	return !inAMF3(b.Bytes())
}

// inAMF3 reports whether the value of a data message, behind its name, is in AMF3 (AMF0, section
// 3.1): no player of FLV reads that, and some take the stream for broken.
func inAMF3(p []byte) bool {
	const markString, markAMF3, head = 2, 0x11, 3
	if len(p) < head || p[0] != markString {
		return false
	}
	at := head + int(binary.BigEndian.Uint16(p[1:]))
	return at < len(p) && p[at] == markAMF3
}

// cut removes the first n bytes of b.
func cut(b *mem.Buf, n int) {
	rest := b.RetainedSlice(n, b.Len())
	b.Release()
	*b = rest //sluice:moved
}
