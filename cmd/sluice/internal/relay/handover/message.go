package handover

import (
	"errors"
	"time"
)

// Format is that of the messages. Processes of another one refuse each other.
const Format = 1

// A Kind says what a message is.
type Kind uint8

const (
	KindHello      Kind = iota + 1 // from the new process: Hello
	KindRefuse                     // from either: Refusal; nothing follows
	KindWelcome                    // from the old one: Welcome
	KindListener                   // Listener, with its descriptor
	KindReady                      // from the new one: it could serve
	KindStream                     // a stream with its frames
	KindSession                    // a session, with the descriptor of its connection
	KindWhole                      // that was all: Whole
	KindTaken                      // from the new one: it has everything, and goes on with it
	KindBans                       // before KindWhole, when there are bans
	KindPushes                     // the same, when there are pushes; it has their keys
	KindRecordings                 // the same, when recordings were begun or ended over the API
)

// Hello is the first message.
type Hello struct {
	Format  int      `json:"format"`
	Version string   `json:"version"` // of the program, for people
	PID     int      `json:"pid"`
	Kinds   []string `json:"kinds"` // of state that it can take over
}

// Welcome answers a Hello that is not refused.
type Welcome struct {
	Format    int    `json:"format"`
	Version   string `json:"version"`
	PID       int    `json:"pid"`
	Listeners int    `json:"listeners"` // so many Listener follow
}

// Refusal says why there is no handover.
type Refusal struct {
	Reason string `json:"reason"`
}

// Listener is an address that is listened at.
type Listener struct {
	Setting string `json:"setting"`
	Address string `json:"address"` // as it was configured
}

// Whole says how many messages of each kind went before it.
type Whole struct {
	Streams  int `json:"streams"`
	Sessions int `json:"sessions"`
}

// Limits of a message, in bytes. Those of the first messages are small: they come from
// a process that nothing is known of yet.
const (
	MaxHello   = 4 << 10
	MaxState   = 64 << 20
	MaxContent = 1 << 30
)

// Times that the steps may take.
const (
	HelloTime = 5 * time.Second
	StartTime = 30 * time.Second // for the new process to become ready; the old one serves meanwhile
	TakeTime  = 2 * time.Second  // from the pause to Taken
)

var (
	// ErrRefused: the other process refused, and said why.
	ErrRefused = errors.New("handover: refused")
	// ErrProtocol: what came is none of these messages, or not the one that is due.
	ErrProtocol = errors.New("handover: bad message")
	// ErrTooLong: a message is longer than its kind may be.
	ErrTooLong = errors.New("handover: message too long")
	// ErrPeer: the other process is another user's.
	ErrPeer = errors.New("handover: a process of another user")
	// ErrSystem: this system cannot hand descriptors over.
	ErrSystem = errors.New("handover: not on this system")
)
