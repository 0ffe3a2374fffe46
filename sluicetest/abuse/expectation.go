package abuse

import "fmt"

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
