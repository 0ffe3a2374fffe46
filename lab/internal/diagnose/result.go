package diagnose

import (
	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/machine"
)

// Kind and Schema are what the JSON of a Diagnosis begins with.
const (
	Kind   = "diagnosis"
	Schema = 3
)

// A Diagnosis is what was seen of a program and what it means.
type Diagnosis struct {
	machine.Origin
	Findings []Finding         `json:"findings"` // what costs most first
	Open     []Open            `json:"open"`
	Evidence evidence.Evidence `json:"evidence"`
}

// A Finding is one line of the table.
type Finding struct {
	Rule  string  `json:"rule"`  // "small-writes"; empty for a line that only reports what a tool saw
	Tool  string  `json:"tool"`  // "strace"
	Top   string  `json:"top"`   // function or event
	Share float64 `json:"share"` // 0..1, of the tool's whole
	Clue  string  `json:"clue"`  // in words
	Try   string  `json:"try,omitempty"`
	Score float64 `json:"score"` // what the order rests on: the part of the time that it is thought to cost, 0..1
}

// Open is a rule that could not be decided.
type Open struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

// Verdict is the answer of a diagnosis as a code.
type Verdict string

const (
	Found     Verdict = "found"     // the first finding is worth mending
	Clean     Verdict = "clean"     // every rule was decided, and none found a fault
	Undecided Verdict = "undecided" // none found a fault, but some could not be decided
)

// Verdict says what the diagnosis comes to.
func (d *Diagnosis) Verdict() Verdict {
	switch _, found := First(d.Findings); {
	case found:
		return Found
	case len(d.Open) > 0:
		return Undecided
	}
	return Clean
}
