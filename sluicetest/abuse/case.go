package abuse

import (
	"fmt"
	"time"
)

// A Case is one thing that a client does wrong, or rarely.
type Case struct {
	ID     string // "RTMP-H-07": numbers stay with their cases
	Title  string
	Clause string // of which specification, or empty
	Expect Expectation
	// Within is how long the server may take. 0: Options.Within, or
	// Options.Idle for those that wait for a time limit of the server.
	Within time.Duration

	late bool // a time limit of the server has to end it
	run  func(*try) result
}

// An Expectation is what a server has to do about a case.
type Expectation uint8

const (
	// Closed: the connection is closed by the server.
	Closed Expectation = iota + 1
	// Refused: an error is answered, or the connection is closed.
	Refused
	// Served: what is asked for afterwards is answered as always.
	Served
	// Harmless: closed, refused or served; but not left without an answer.
	Harmless
	// Answered: with one certain answer, which the title names.
	Answered
)

func (e Expectation) String() string {
	switch e {
	case Closed:
		return "closed"
	case Refused:
		return "refused or closed"
	case Served:
		return "served"
	case Harmless:
		return "harmless"
	case Answered:
		return "answered"
	}
	return fmt.Sprintf("expectation %d", uint8(e))
}

// MarshalText returns the text of String.
func (e Expectation) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// result is what was seen of the server.
type result uint8

const (
	silent   result = iota // neither closed nor an answer
	closed                 // an end or a reset of the connection
	refused                // an error was answered
	served                 // a later request was answered
	answered               // what the title names
)

func (r result) String() string {
	return [...]string{"no answer and not closed", "closed", "refused", "served", "answered"}[r]
}

// met reports whether what was seen is what was expected.
func (e Expectation) met(r result) bool {
	switch e {
	case Closed:
		return r == closed
	case Refused:
		return r == closed || r == refused
	case Served:
		return r == served || r == answered
	case Harmless:
		return r != silent
	case Answered:
		return r == answered
	}
	return false
}

// A section collects the cases of one clause of a specification.
type section struct {
	clause string
	cases  []Case
}

// rtmp adds a case that goes as far as from, and sends then.
func (s *section) rtmp(title string, from phase, want Expectation, send func(*peer)) {
	s.cases = append(s.cases, rtmpCase(title, s.clause, from, want, send))
}

// rtmpLate adds one that a time limit of the server has to end.
func (s *section) rtmpLate(title string, from phase, want Expectation, send func(*peer)) {
	s.cases = append(s.cases, late(rtmpCase(title, s.clause, from, want, send)))
}

// http adds a case of one connection.
func (s *section) http(title string, want Expectation, send func(*browser)) {
	s.cases = append(s.cases, httpCase(title, s.clause, want, send))
}

// httpLate adds one that a time limit of the server has to end.
func (s *section) httpLate(title string, want Expectation, send func(*browser)) {
	s.cases = append(s.cases, late(httpCase(title, s.clause, want, send)))
}

// numbered gives cases their numbers, from 1.
func numbered(prefix string, cases []Case) []Case {
	for i := range cases {
		cases[i].ID = fmt.Sprintf("%s-%02d", prefix, i+1)
	}
	return cases
}
