//go:build !race

package sys

// Race says whether the race detector is compiled in.
const Race = false

// StoreRelaxed writes one word that a single owner changes and that others
// only look at for statistics, with sync/atomic loads. The Go memory model
// promises such a reader one of the values that were written, since the word
// is no larger than a machine word; it promises no order, and none is used.
// sync/atomic has only the fully fenced store, which on amd64 costs as much
// as the compare-and-swap that a whole Release is allowed.
func StoreRelaxed(p *uint32, v uint32) { *p = v }
