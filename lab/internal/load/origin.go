package load

import (
	"time"

	"github.com/sluice-go/sluice/lab/internal/machine"
)

// An Origin says what a file of results is and where it comes from.
type Origin struct {
	Kind    string          `json:"kind"`
	Schema  int             `json:"schema"`
	Version string          `json:"version,omitempty"` // of the program
	Command []string        `json:"command,omitempty"`
	Machine machine.Machine `json:"machine"`
	Started time.Time       `json:"started"`
}

// Kinds of what Compare and Search return.
const (
	PairKind   = "load-compare"
	SearchKind = "load-search"
)
