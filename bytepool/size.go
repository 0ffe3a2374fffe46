package bytepool

import (
	"fmt"
	"math"
)

const (
	// maxCapacity is less than what makes make panic, on any system.
	maxCapacity = min(1<<40, math.MaxInt/2)
	// maxCache is 3 GiB of slice headers.
	maxCache = 1 << 27
)

// checkSizes panics when no slice can have this length and capacity.
func checkSizes(constructor string, size, capacity int) {
	if size < 0 || capacity < 0 || size > capacity || capacity > maxCapacity {
		panic(fmt.Sprintf("bytepool: %s: size of %d bytes with a capacity of %d", constructor, size, capacity))
	}
}

// keptCapacity is what Put compares with. A slice without room has no array
// to keep, and an address that it shares with others, so that a pool of those
// keeps nothing: no slice has this capacity.
func keptCapacity(capacity int) int {
	if capacity == 0 {
		return -1
	}
	return capacity
}
