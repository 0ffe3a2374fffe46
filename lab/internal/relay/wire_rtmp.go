package relay

import (
	"encoding/binary"
	"math"
)

// Message types (RTMP 1.0, 5.4 and 7.1) besides the media's.
const (
	kindChunkSize = 1
	kindAck       = 3
	kindUser      = 4
	kindWindow    = 5
	kindBandwidth = 6
	kindCommand   = 20
)

// User control events (7.1.7).
const (
	eventStreamBegin = 0
	eventPing        = 6
	eventPong        = 7
)

const (
	handshakeLen     = 1536
	defaultChunk     = 128   // bytes, until a Set Chunk Size message
	outChunk         = 65536 // of what is sent here
	extended         = 0xFFFFFF
	streamID         = 1
	controlChunks    = 2
	commandChunks    = 3
	audioChunks      = 4
	dataChunks       = 5
	videoChunks      = 6
	acknowledgeEvery = 2_500_000
)

// chunksOf is the chunk stream that a kind of message is sent on.
func chunksOf(kind uint8) byte {
	switch kind {
	case kindVideo:
		return videoChunks
	case kindAudio:
		return audioChunks
	case kindScript:
		return dataChunks
	case kindCommand:
		return commandChunks
	}
	return controlChunks
}

// appendMessage appends a message in chunks of at most limit bytes, with an
// absolute time.
func appendMessage(dst []byte, kind uint8, stream, time uint32, payload []byte, limit int) []byte {
	id := chunksOf(kind)
	short := min(time, extended)
	n := len(payload)
	dst = append(dst, id, byte(short>>16), byte(short>>8), byte(short), byte(n>>16), byte(n>>8), byte(n), kind)
	dst = binary.LittleEndian.AppendUint32(dst, stream)
	for {
		if short == extended {
			dst = binary.BigEndian.AppendUint32(dst, time)
		}
		part := min(len(payload), limit)
		dst = append(dst, payload[:part]...)
		if payload = payload[part:]; len(payload) == 0 {
			return dst
		}
		dst = append(dst, 3<<6|id)
	}
}

// appendControl appends a message with one number.
func appendControl(dst []byte, kind uint8, value uint32) []byte {
	return appendMessage(dst, kind, 0, 0, binary.BigEndian.AppendUint32(nil, value), defaultChunk)
}

// appendEvent appends a user control message.
func appendEvent(dst []byte, event uint16, value uint32) []byte {
	p := binary.BigEndian.AppendUint16(nil, event)
	return appendMessage(dst, kindUser, 0, 0, binary.BigEndian.AppendUint32(p, value), defaultChunk)
}

// A pair is a property of an AMF0 object.
type pair struct {
	name  string
	value any
}

// appendCommand appends a command of AMF0 values: numbers, strings, nil for
// null, []pair for an object.
func appendCommand(dst []byte, stream uint32, limit int, values ...any) []byte {
	var p []byte
	for _, v := range values {
		p = appendAMF(p, v)
	}
	return appendMessage(dst, kindCommand, stream, 0, p, limit)
}

func appendAMF(dst []byte, v any) []byte {
	switch v := v.(type) {
	case int:
		return binary.BigEndian.AppendUint64(append(dst, 0), math.Float64bits(float64(v)))
	case string:
		return appendName(append(dst, 2), v)
	case []pair:
		dst = append(dst, 3)
		for _, p := range v {
			dst = appendAMF(appendName(dst, p.name), p.value)
		}
		return append(dst, 0, 0, 9)
	}
	return append(dst, 5)
}

func appendName(dst []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(s))), s...)
}

// commandName is the first string of a command, and of onStatus the code too.
func commandName(p []byte) string {
	if len(p) < 3 || p[0] != 2 || len(p) < 3+int(binary.BigEndian.Uint16(p[1:])) {
		return ""
	}
	return string(p[3 : 3+int(binary.BigEndian.Uint16(p[1:]))])
}

// appendTag appends an FLV tag and its size.
func appendTag(dst []byte, kind uint8, time uint32, payload []byte) []byte {
	n := len(payload)
	dst = append(dst, kind, byte(n>>16), byte(n>>8), byte(n), byte(time>>16), byte(time>>8), byte(time), byte(time>>24), 0, 0, 0)
	dst = append(dst, payload...)
	return binary.BigEndian.AppendUint32(dst, uint32(tagHeader+n))
}

// flvStart is the header of a file with sound and picture, and the size of no
// tag before it.
const flvStart = "FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00"
