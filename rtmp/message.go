package rtmp

import (
	"fmt"

	"github.com/sluice-go/sluice/mem"
)

// MessageType is the kind of a message: the message type id of the
// specification, sections 5.4, 6.2 and 7.1.
type MessageType uint8

// The message types.
const (
	TypeSetChunkSize     MessageType = 1
	TypeAbort            MessageType = 2
	TypeAcknowledgement  MessageType = 3
	TypeUserControl      MessageType = 4
	TypeWindowAckSize    MessageType = 5
	TypeSetPeerBandwidth MessageType = 6
	TypeAudio            MessageType = 8
	TypeVideo            MessageType = 9
	TypeDataAMF3         MessageType = 15
	TypeSharedObjectAMF3 MessageType = 16
	TypeCommandAMF3      MessageType = 17
	TypeDataAMF0         MessageType = 18
	TypeSharedObject     MessageType = 19
	TypeCommandAMF0      MessageType = 20
	TypeAggregate        MessageType = 22
)

// The chunk streams that a ChunkWriter uses for messages that name none. Two
// writers on one connection must not use the same one, unless each message
// begins with a header of format 0, as AppendChunkHeader makes it.
const (
	ControlChunkStream = 2 // the specification reserves it for protocol control
	CommandChunkStream = 3
	AudioChunkStream   = 4
	DataChunkStream    = 5
	VideoChunkStream   = 6
)

var typeNames = map[MessageType]string{
	TypeSetChunkSize: "set chunk size", TypeAbort: "abort", TypeAcknowledgement: "acknowledgement",
	TypeUserControl: "user control", TypeWindowAckSize: "window acknowledgement size",
	TypeSetPeerBandwidth: "set peer bandwidth", TypeAudio: "audio", TypeVideo: "video",
	TypeDataAMF3: "data (AMF3)", TypeSharedObjectAMF3: "shared object (AMF3)", TypeCommandAMF3: "command (AMF3)",
	TypeDataAMF0: "data", TypeSharedObject: "shared object", TypeCommandAMF0: "command", TypeAggregate: "aggregate",
}

// String returns the type's name.
func (t MessageType) String() string {
	if s, ok := typeNames[t]; ok {
		return s
	}
	return fmt.Sprintf("message type %d", uint8(t))
}

// Message is one message, whole: what the chunks of one chunk stream carried.
// The payload of an audio, video or data message is the body of an FLV tag.
type Message struct {
	Type        MessageType
	ChunkStream uint32 // 2 to 65,599; 0 lets a writer choose by type
	StreamID    uint32 // the message stream: 0 for the connection itself
	Time        uint32 // milliseconds, wraps at 2^32
	// Payload is retained by the holder of the Message. A writer takes the zero Buf as an empty
	// payload; what ReadMessage returns is never the zero Buf, which has no Len.
	Payload mem.Buf
}

// Release releases the payload and leaves the message without one. A message
// without payload is left alone.
func (m *Message) Release() {
	if m.Payload.Valid() {
		m.Payload.Release()
	}
}

// bytes returns the payload, borrowed until m is released.
func (m *Message) bytes() []byte {
	if !m.Payload.Valid() {
		return nil
	}
	return m.Payload.Bytes()
}
