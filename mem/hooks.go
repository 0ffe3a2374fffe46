package mem

import "github.com/sluice-go/sluice/internal/hooks"

func init() {
	hooks.AwaitSlab = (*Allocator).awaitSlab
	hooks.Idle = (*Allocator).idle
	hooks.Keep = (*Allocator).keep
	hooks.Budget = (*Allocator).pressed
	hooks.Pinned = (*Allocator).pinned
	hooks.Together = together
	hooks.PinnedAll = (*Allocator).pinnedAll
	hooks.CachedSlab = (*Allocator).cachedSlab
	hooks.SlabOf = slabOf
	hooks.Park = (*Slab).park
	hooks.Unpark = unpark
	hooks.RunsFree = Buf.runsFree
	hooks.RunsFreeAny = (*Memory).runsFree
	hooks.Taken = (*Allocator).taken
}
