package rtmp

// Limits bound what a peer can make a Conn or ChunkReader hold. They are
// checked when a header announces something, before memory is taken for it;
// what is taken then follows the bytes that have arrived. A field that is 0
// has its default.
type Limits struct {
	// Message is the longest audio, video or aggregate message in bytes, at
	// most MaxMessageLength. Default 4 MiB: several times a key frame of
	// 2160p at 100 Mbit/s.
	Message int
	// Data is the longest data message in bytes. Default 1 MiB: metadata of a
	// recording can list all its key frames.
	Data int
	// Command is the longest command in bytes, and of any message until a
	// server's Conn has accepted to be published to. Default 64 KiB.
	Command int
	// Unfinished is the most bytes that all messages of which a part is
	// missing may have together. Default Message + 1 MiB. Until a server's Conn has
	// accepted to be published to it is Command.
	Unfinished int
	// Hold, unless it is nil, bounds what many connections have of unfinished messages
	// together. It is called when these take 64 KiB or more, or are about to, with how many
	// bytes, and with 0 when they take less again. Its error ends the connection as ErrTooLong
	// does. It must not wait.
	Hold func(bytes int) error
	// ChunkStreams is how many chunk streams a peer may use. Default 64;
	// common peers use less than ten.
	ChunkStreams int
	// Requests is how many messages may come before publish or play, and in
	// answer to a client's request. Default 64.
	Requests int
}

const (
	defaultMessage      = 4 << 20
	defaultData         = 1 << 20
	defaultCommand      = 64 << 10
	defaultChunkStreams = 64
	defaultRequests     = 64

	// longestControl is the longest protocol or user control message. The
	// longest in use is a SWF verification of 44 bytes.
	longestControl = 256
)

func (l Limits) orDefault() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.Message, defaultMessage)
	l.Message = min(l.Message, MaxMessageLength)
	set(&l.Data, defaultData)
	set(&l.Command, defaultCommand)
	set(&l.Unfinished, l.Message+1<<20)
	set(&l.ChunkStreams, defaultChunkStreams)
	set(&l.Requests, defaultRequests)
	return l
}

// of returns the longest message of type t.
func (l *Limits) of(t MessageType) int {
	switch t {
	case TypeAudio, TypeVideo, TypeAggregate:
		return l.Message
	case TypeDataAMF0, TypeDataAMF3:
		return l.Data
	case TypeSetChunkSize, TypeAbort, TypeAcknowledgement, TypeUserControl, TypeWindowAckSize, TypeSetPeerBandwidth:
		return longestControl
	}
	return l.Command
}
