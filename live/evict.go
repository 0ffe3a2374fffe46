package live

import (
	"cmp"
	"slices"
)

// minEvicted is for how many bytes a viewer is worth closing.
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

// Evict closes the viewers for whom the kernel holds most, for ErrMemory, until
// it holds n bytes less, and returns how many bytes that is. Viewers for whom
// little is held stay: their going would free nothing.
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
