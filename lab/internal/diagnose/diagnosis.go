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
