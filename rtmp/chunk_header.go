package rtmp

import (
	"encoding/binary"
	"fmt"
)

// Sizes and limits of the chunk layer, in bytes (specification, section 5.3).
const (
	// MaxChunkHeader is the longest chunk header: a basic header of 3 bytes,
	// a message header of 11 and an extended timestamp.
	MaxChunkHeader = 3 + 11 + 4
	// MaxMessageLength is the longest message that a header can announce.
	MaxMessageLength = 1<<24 - 1
	// MaxChunkStream is the largest chunk stream id.
	MaxChunkStream = 64 + 0xFFFF
	// InitialChunkSize is the chunk size of both directions until a Set Chunk
	// Size message changes it.
	InitialChunkSize = 128
	// DefaultChunkSize is the chunk size that a Conn sets for what it sends:
	// most frames fit in one chunk.
	DefaultChunkSize = 65536
	// MaxChunkSize is the largest legal chunk size. A message is never longer
	// than 2^24 - 1 bytes, so it stands for one chunk a message.
	MaxChunkSize = 1<<31 - 1
)

// extended in the timestamp field says that the timestamp follows the header.
const extended = 0xFFFFFF

// AppendChunkHeader appends the header of the first chunk of a message, in
// format 0 with an absolute time and, where the time needs it, the extended
// timestamp (specification, section 5.3.1). Such a header depends on nothing
// that was sent before, so that it can be made once for many receivers. dst is
// borrowed until the call returns; the result is the caller's.
//
// A chunk stream outside 2 to MaxChunkStream and a length outside 0 to
// MaxMessageLength panic.
func AppendChunkHeader(dst []byte, chunkStream uint32, typ MessageType, streamID, time uint32, length int) []byte {
	if length < 0 || length > MaxMessageLength {
		panic(fmt.Sprintf("rtmp: AppendChunkHeader: message length %d, at most %d", length, MaxMessageLength))
	}
	field := min(time, extended)
	dst = appendBasicHeader(dst, 0, chunkStream)
	dst = append(dst,
		byte(field>>16), byte(field>>8), byte(field),
		byte(length>>16), byte(length>>8), byte(length),
		byte(typ))
	dst = binary.LittleEndian.AppendUint32(dst, streamID)
	if field == extended {
		dst = binary.BigEndian.AppendUint32(dst, time)
	}
	return dst
}

// AppendContinuation appends the header of a further chunk of a message whose
// first header AppendChunkHeader made with the same chunk stream and time:
// format 3, with the extended timestamp repeated where there is one. dst is
// borrowed until the call returns; the result is the caller's. A chunk stream
// outside 2 to MaxChunkStream panics.
func AppendContinuation(dst []byte, chunkStream uint32, time uint32) []byte {
	dst = appendBasicHeader(dst, 3, chunkStream)
	if time >= extended {
		dst = binary.BigEndian.AppendUint32(dst, time)
	}
	return dst
}

// headerLen is the length of a message header by format (section 5.3.1.2).
var headerLen = [4]int{11, 7, 3, 0}

// appendBasicHeader appends the format and the chunk stream id in 1 to 3 bytes
// (section 5.3.1.1).
func appendBasicHeader(dst []byte, format byte, chunkStream uint32) []byte {
	switch {
	case chunkStream < 2 || chunkStream > MaxChunkStream:
		panic(fmt.Sprintf("rtmp: chunk stream %d, want 2 to %d", chunkStream, MaxChunkStream))
	case chunkStream < 64:
		return append(dst, format<<6|byte(chunkStream))
	case chunkStream < 64+256:
		return append(dst, format<<6, byte(chunkStream-64))
	}
	id := chunkStream - 64
	return append(dst, format<<6|1, byte(id), byte(id>>8))
}

func be24(p []byte) uint32 { return uint32(p[0])<<16 | uint32(p[1])<<8 | uint32(p[2]) }
