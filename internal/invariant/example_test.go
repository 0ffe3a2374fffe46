package invariant_test

import (
	"fmt"

	"github.com/sluice-go/sluice/internal/invariant"
)

func Example() {
	window := make([]byte, 10, 16)
	invariant.Check(len(window) <= cap(window), "sluice: window of %d bytes in a block of %d", len(window), cap(window))
	fmt.Println("the window lies inside its block")
	// Output: the window lies inside its block
}
