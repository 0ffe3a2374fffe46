package directory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// A Kind is what a message is for.
type Kind string

const (
	Digest Kind = "digest" // each second: what the list adds up to
	Change Kind = "change" // entries that came, changed or went
	Want   Kind = "want"   // asks one node for its whole list
	List   Kind = "list"   // a part of a list, to the node that asked
	Gone   Kind = "gone"   // the node leaves
)

// A Message is what nodes send each other.
type Message struct {
	Kind    Kind     `json:"k"`
	From    string   `json:"f"`
	To      string   `json:"-"` // empty for all nodes
	Run     uint64   `json:"r"` // which start of the node: a later one is larger
	Clock   uint64   `json:"c,omitempty"`
	Version uint64   `json:"v,omitempty"` // of the list, after this message
	Before  uint64   `json:"b,omitempty"` // the version that a Change is made to
	Count   int      `json:"n,omitempty"` // entries of the list
	Sum     uint64   `json:"s,omitempty"` // of their keys
	Node    *Node    `json:"o,omitempty"`
	Entries []Entry  `json:"e,omitempty"`
	Removed []string `json:"d,omitempty"`
	Part    int      `json:"p,omitempty"` // of a List, from 0
	Parts   int      `json:"q,omitempty"`
}

// A Node is what a node says of itself.
type Node struct {
	URL      string  `json:"u,omitempty"` // where other nodes pull from
	Policy   Policy  `json:"p,omitempty"`
	Viewers  int     `json:"v,omitempty"`
	Load     float64 `json:"l,omitempty"` // of its limits: 1 is full
	Draining bool    `json:"d,omitempty"`
	Bans     uint64  `json:"b,omitempty"` // sum of the bans that hold on it
	Play     string  `json:"a,omitempty"` // where viewers are sent to; empty for URL
	Room     int     `json:"m,omitempty"` // viewers that it has room for
	Version  string  `json:"w,omitempty"` // of the program
}

// An Entry is one stream that a node has.
type Entry struct {
	Stream    string `json:"s"`
	Epoch     uint64 `json:"e"`           // of the publication
	Level     int    `json:"l,omitempty"` // 0: published on this node; 1: pulled from there; 2: pulled from a node of level 1
	From      string `json:"f,omitempty"` // the node that it is pulled from
	Waiting   bool   `json:"w,omitempty"` // published on this node, and viewers get another publication
	Publisher string `json:"p,omitempty"` // address
	Bitrate   int64  `json:"b,omitempty"` // bits a second; not part of the sum
	Viewers   int    `json:"v,omitempty"` // not part of the sum
}

// key is the part of an entry that decides: equal keys are the same entry, with
// other figures perhaps.
type key struct {
	stream string
	epoch  uint64
	level  int
	from   string
	waits  bool
}

func (e *Entry) key() key { return key{e.Stream, e.Epoch, e.Level, e.From, e.Waiting} }

// hash is FNV-1a, 64 bits, mixed: the sums of hashes that differ in their last
// bytes alone would be equal too often. A sum does not depend on the order.
func (e *Entry) hash() uint64 {
	h := uint64(14695981039346656037)
	add := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for i := range len(e.Stream) {
		add(e.Stream[i])
	}
	add(0)
	for i := range len(e.From) {
		add(e.From[i])
	}
	for shift := 0; shift < 64; shift += 8 {
		add(byte(e.Epoch >> shift))
	}
	add(byte(e.Level))
	if e.Waiting {
		add(1)
	}
	return mix(h)
}

// mix makes every bit of the result depend on every bit of x: it is the last step
// of MurmurHash3.
func mix(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Limits of what a message may have.
const (
	maxName    = 256     // bytes of a stream's or node's name, and of an address
	maxURL     = 1024    // bytes
	partSize   = 1000    // entries in one part of a list
	maxParts   = 200     // of a list
	maxEntries = 200_000 // of one node
	maxLevel   = 2
)

// ErrMessage: what came is not a message of this package.
var ErrMessage = errors.New("directory: bad message")

// Append appends the message as Parse reads it.
func (m *Message) Append(b []byte) []byte {
	text := bytes.NewBuffer(b)
	e := json.NewEncoder(text)
	e.SetEscapeHTML(false) // an & of a name is one byte, not six
	if err := e.Encode(m); err != nil {
		panic("directory: " + err.Error()) // plain data
	}
	return text.Bytes()
}

// Parse reads a message from p, which is borrowed until it returns, and checks its
// limits. An error matches ErrMessage.
func Parse(p []byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(p, &m); err != nil {
		return m, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return m, m.check()
}

func (m *Message) check() error {
	bad := func(what string, got any, limit any) error {
		return fmt.Errorf("%w: %s is %.80v, the limit is %v", ErrMessage, what, got, limit)
	}
	switch m.Kind {
	case Digest, Change, Want, List, Gone:
	default:
		return fmt.Errorf("%w: unknown kind %.20q", ErrMessage, string(m.Kind))
	}
	switch {
	case m.From == "" || len(m.From) > maxName:
		return bad("the length of the node's name", len(m.From), maxName)
	case len(m.Entries) > partSize:
		return bad("the number of entries", len(m.Entries), partSize)
	case len(m.Removed) > partSize:
		return bad("the number of removed entries", len(m.Removed), partSize)
	case m.Parts < 0 || m.Parts > maxParts || m.Part < 0 || m.Part > m.Parts:
		return bad("the number of parts", m.Parts, maxParts)
	case m.Node != nil && max(len(m.Node.URL), len(m.Node.Play)) > maxURL:
		return bad("the length of the address", max(len(m.Node.URL), len(m.Node.Play)), maxURL)
	case m.Epoch() > maxEpoch:
		return bad("the epoch", m.Epoch(), uint64(maxEpoch))
	case !printable(m.From) || m.Node != nil && !m.Node.printable():
		return fmt.Errorf("%w: what the node %.40q says of itself is too long, or has characters in it that control terminals", ErrMessage, m.From)
	}
	for _, name := range m.Removed {
		if len(name) > maxName {
			return bad("the length of a removed name", len(name), maxName)
		}
	}
	for i := range m.Entries {
		e := &m.Entries[i]
		if e.Stream == "" || len(e.Stream) > maxName || len(e.From) > maxName || len(e.Publisher) > maxName {
			return bad("the length of a name", len(e.Stream)+len(e.From)+len(e.Publisher), maxName)
		}
		if !printable(e.Stream) || !printable(e.From) || !printable(e.Publisher) {
			return fmt.Errorf("%w: the stream %.40q has a name in it with characters that control terminals", ErrMessage, e.Stream)
		}
		if e.Level < 0 || e.Level > maxLevel {
			return bad("the level", e.Level, maxLevel)
		}
	}
	return nil
}

// printable reports whether a text can go into answers that a terminal shows.
func printable(s string) bool { return !strings.ContainsFunc(s, unicode.IsControl) }

func (n *Node) printable() bool {
	return max(len(n.Version), len(n.Policy)) <= maxName &&
		printable(n.URL) && printable(n.Play) && printable(n.Version) && printable(string(n.Policy))
}

// A node that sends the largest number must not bring the others' clocks to where theirs
// are refused: it moves them by at most maxStep, which is more than there are publications.
const (
	maxEpoch = 1 << 62
	maxStep  = 1 << 32
)

// Epoch returns the largest epoch that the message has.
func (m *Message) Epoch() uint64 {
	most := m.Clock
	for i := range m.Entries {
		most = max(most, m.Entries[i].Epoch)
	}
	return most
}
