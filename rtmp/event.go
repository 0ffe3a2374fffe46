package rtmp

// Event is the kind of a user control message (specification, section 7.1.7).
type Event uint16

// The events.
const (
	EventStreamBegin      Event = 0
	EventStreamEOF        Event = 1
	EventStreamDry        Event = 2
	EventSetBufferLength  Event = 3
	EventStreamIsRecorded Event = 4
	EventPingRequest      Event = 6
	EventPingResponse     Event = 7
)
