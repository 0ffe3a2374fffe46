//go:build !invariants

package invariant

// Enabled reports whether this binary was built with the tag invariants.
const Enabled = false

// Check does nothing in this build, whatever ok is.
func Check(ok bool, format string, args ...any) {}
