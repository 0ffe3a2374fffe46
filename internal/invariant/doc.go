// Package invariant holds the checks that cost too much for every build. The
// cheap ones stand where they belong, always on; these run only in a binary
// built with the tag invariants:
//
//	go test -tags invariants ./...
//
// The tag changes no type and no signature, so whatever compiles without it
// compiles with it. Without it Enabled is the constant false and Check is an
// empty function that the compiler inlines, so that a call costs nothing beyond the
// evaluation of its arguments; where those are costly themselves, or the check
// needs state of its own, guard it:
//
//	if invariant.Enabled {
//		invariant.Check(b.recount() == b.refs, "mem: block counts %d references, %d found", b.refs, b.recount())
//	}
//
// What is checked here is a fault of this module, never something that a
// peer can cause. The package touches no bytes. Any goroutine may call its
// functions.
package invariant
