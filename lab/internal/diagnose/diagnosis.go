package diagnose

import (
	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/machine"
)

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

const (
	// Significant is the score from which on a finding is thought to be worth
	// mending before anything else. Programs without a known fault stay below it.
	Significant = 0.2
	// faint is the score below which a rule keeps silent.
	faint = 0.03
)

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

// First returns the finding that is worth mending first, if there is one.
func First(findings []Finding) (f Finding, ok bool) {
	if len(findings) == 0 || findings[0].Rule == "" || findings[0].Score < Significant {
		return Finding{}, false
	}
	return findings[0], true
}
