package live

import (
	"fmt"

	"github.com/sluice-go/sluice/flv"
)

// Form is a wire form: how frames look to a viewer.
type Form uint8

const (
	// FormFLV is an FLV file without an end: header, tags.
	FormFLV Form = iota
	// FormRTMP is RTMP chunks on message stream 1, at rtmp.DefaultChunkSize.
	FormRTMP
	// FormWebSocket is FormFLV in unmasked binary WebSocket messages
	// (RFC 6455, section 5.2).
	FormWebSocket
	// FormChunked is FormFLV in chunks of HTTP/1.1 (RFC 9112, section 7.1). The line
	// end behind a chunk is sent with the next one, so a Trailer begins with it. When
	// the Hub is closed the Trailer is left out: to the client that is a lost connection,
	// after which it may come back, and not the end of the stream.
	FormChunked
	// FormRaw is the payloads and nothing else, of a stream with Raw or Packets
	// set.
	FormRaw
	// FormHop is FormChunked with a script tag before each frame that has a Mark, as
	// ParseMark reads it: for servers that pass the stream on.
	FormHop
)

// chunked reports whether the form is one of HTTP chunks.
func (f Form) chunked() bool { return f == FormChunked || f == FormHop }

func (f Form) String() string {
	switch f {
	case FormFLV:
		return "flv"
	case FormRTMP:
		return "rtmp"
	case FormWebSocket:
		return "websocket"
	case FormChunked:
		return "chunked"
	case FormRaw:
		return "raw"
	case FormHop:
		return "hop"
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

// playStream is the message stream on which a server plays: the only one that
// createStream ever made.
const playStream = 1

// The chunk streams for what a stream sends; 2 is the protocol's own, 3 that of
// commands.
const (
	audioChunks  = 4
	scriptChunks = 5
	videoChunks  = 6
)

func chunkStream(typ flv.TagType) uint32 {
	switch typ {
	case flv.TagAudio:
		return audioChunks
	case flv.TagVideo:
		return videoChunks
	}
	return scriptChunks
}
