package live

import (
	"cmp"
	"slices"
)

// minEvicted is the least number of queued bytes for which a viewer is closed.
const minEvicted = 16 << 10

// Queued returns about how many bytes the kernel holds for the writer's viewers,
// where it says so.
func (w *Writer) Queued() int64 {
	var n int64
	for _, v := range w.Viewers() {
		n += v.figures.queued.Load()
	}
	return n
}

// Evict closes the viewers for which the kernel holds most, with ErrMemory, until it
// holds n bytes less, and returns how many bytes that freed. Viewers for which little
// is held stay: closing them would free almost nothing.
func (w *Writer) Evict(n int64) (freed int64) {
	all := w.Viewers()
	slices.SortFunc(all, func(a, b *Viewer) int { return cmp.Compare(b.figures.queued.Load(), a.figures.queued.Load()) })
	for _, v := range all {
		held := v.figures.queued.Load()
		if freed >= n || held < minEvicted {
			break
		}
		v.Close(ErrMemory)
		freed += held
	}
	return freed
}
