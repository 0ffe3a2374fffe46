//go:build !race

package sys

// Race says whether the race detector is compiled in.
const Race = false

// StoreRelaxed writes one word that a single owner changes and that others
// only look at, with sync/atomic loads. The Go memory model promises such a
// reader one of the values that were written, since the word is no larger
// than a machine word; it promises no order, and none is used. sync/atomic has
// only the fully fenced store, which on amd64 costs as much as a
// compare-and-swap.
func StoreRelaxed(p *uint32, v uint32) { *p = v }
