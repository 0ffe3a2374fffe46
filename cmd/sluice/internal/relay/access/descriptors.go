package access

import (
	"fmt"
	"sync"
)

var mostDescriptors = sync.OnceValue(Descriptors)

// reserve says which part of the descriptors, one in so many, viewers leave for the API, for
// publishers and for files: without one nothing is accepted, nor could a client be ended that
// holds too many.
const reserve = 8

// Scarce reports whether viewers have used what there is for them.
func Scarce() bool { return descriptorsLeft(reserve) != nil }

// descriptorsLeft is the limit that the process's descriptors are: one in part is kept.
func descriptorsLeft(part int) error {
	if most := mostDescriptors(); most > 0 && scarce(most-most/part) {
		return full{text: fmt.Sprintf("no room for more connections (ulimit -n is %d)", most)}
	}
	return nil
}
