package machine

import "time"

// An Origin says what a file of results is and where it comes from.
type Origin struct {
	Kind        string    `json:"kind"`
	Schema      int       `json:"schema"`            // version of the kind's JSON
	Version     string    `json:"version,omitempty"` // of the program
	Command     []string  `json:"command,omitempty"`
	Machine     Machine   `json:"machine"`
	Started     time.Time `json:"started"`
	Interrupted bool      `json:"interrupted,omitempty"` // there is less than was asked for
}
