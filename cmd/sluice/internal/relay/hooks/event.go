package hooks

import "time"

// Kinds of events.
const (
	PublishBegin = "publish_begin"
	PublishEnd   = "publish_end"
	Takeover     = "takeover" // a publisher that stood by has its stream's place
	PlayBegin    = "play_begin"
	PlayEnd      = "play_end"
	Evicted      = "evicted" // a viewer that was too slow; its play_end follows
	Stalled      = "stalled" // a publisher that is connected and sends nothing
	Resumed      = "resumed" // it sends again
	RecordBegin  = "record_begin"
	RecordEnd    = "record_end"
	Refused      = "refused"      // a session that was not admitted
	PushChanged  = "push_changed" // the state of a push, which is its code
	NodeJoined   = "node_joined"  // another node of the cluster
	NodeLeft     = "node_left"
	Lost         = "lost" // events for which the spool had no room
)

// An Event is something that has happened, as the receiver gets it. Fields are
// named as those of the admission hook's question.
type Event struct {
	ID         string    `json:"id"` // unique: the same event that comes again has the same
	Time       time.Time `json:"time"`
	Event      string    `json:"event"` // one of the kinds
	Stream     string    `json:"stream,omitempty"`
	Session    string    `json:"session,omitempty"` // as in the API: p1, v1
	Address    string    `json:"address,omitempty"`
	Protocol   string    `json:"protocol,omitempty"`
	Agent      string    `json:"agent,omitempty"`
	Token      string    `json:"token,omitempty"` // its id
	Bytes      *int64    `json:"bytes,omitempty"` // with an end: received or sent, or of the file
	Frames     *int64    `json:"frames,omitempty"`
	DurationMS *int64    `json:"duration_ms,omitempty"` // with an end: of the session or the file; with resumed: of the silence
	Code       string    `json:"code,omitempty"`        // with an end: why, as in metrics
	Reason     string    `json:"reason,omitempty"`      // the same for people
	Action     string    `json:"action,omitempty"`      // with refused: publish or play
	Target     string    `json:"target,omitempty"`      // with push_changed
	Node       string    `json:"node,omitempty"`        // with node_joined and node_left
	File       string    `json:"file,omitempty"`        // of a recording, below its directory
	Count      int64     `json:"count,omitempty"`       // with lost; with refused: how many before had no event
}
