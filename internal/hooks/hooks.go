// Package hooks is what mem and the module's root offer to the library's own packages
// beside what they export: what readers are made of, and no user needs. It cannot name
// their types, because they import it. So each hook is an any that they set before
// its importers are initialized, and whose type stands in the comment. An
// importer asserts it once, in a package variable. The functions are documented
// where they are defined.
package hooks

var (
	// AwaitSlab is a func(a *mem.Allocator, n, held int, stop <-chan error) (mem.Slab, error).
	AwaitSlab any
	// Idle is a func(a *mem.Allocator, held int).
	Idle any
	// Keep is a func(a *mem.Allocator, kept int).
	Keep any
	// Budget is a func(a *mem.Allocator) (limit int64, pressed bool).
	Budget any
	// Pinned is a func(a *mem.Allocator, b mem.Buf) int.
	Pinned any
	// Together is a func(a, b mem.Buf) bool.
	Together any
	// PinnedAll is a func(a *mem.Allocator, m *mem.Memory) int.
	PinnedAll any
	// CachedSlab is a func(a *mem.Allocator, n int) mem.Slab.
	CachedSlab any
	// SlabOf is a func(b mem.Buf) mem.Slab.
	SlabOf any
	// Park is a func(s *mem.Slab) Parked.
	Park any
	// Unpark is a func(p Parked) mem.Slab.
	Unpark any
	// RunsFree is a func(b mem.Buf) bool.
	RunsFree any
	// RunsFreeAny is a func(m *mem.Memory) bool.
	RunsFreeAny any
	// HoldBeside is a func(b *sluice.BufReader, held int).
	HoldBeside any
	// AwaitBeside is a func(b *sluice.BufReader, n int) (mem.Slab, error).
	AwaitBeside any
	// Taken is a func(a *mem.Allocator) int64, for tests: the capacity of all
	// checkouts there have been.
	Taken any
)

// Parked names a block that its filler has released and may go on filling if
// others have kept it alive. It holds nothing: neither a reference nor memory.
type Parked struct {
	Block any    // a weak pointer to it
	Took  uint32 // the number of its checkout
}
