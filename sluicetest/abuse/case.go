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

// A section collects the cases of one clause of a specification.
type section struct {
	clause string
	cases  []Case
}

// numbered gives cases their numbers, from 1.
func numbered(prefix string, cases []Case) []Case {
	for i := range cases {
		cases[i].ID = fmt.Sprintf("%s-%02d", prefix, i+1)
	}
	return cases
}
