//go:build invariants

package invariant

import "fmt"

// Enabled reports whether this binary was built with the tag invariants.
const Enabled = true

// Check panics with the formatted message when ok is false. The message names
// the package that found the fault, and the numbers.
func Check(ok bool, format string, args ...any) {
	if !ok {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
}
