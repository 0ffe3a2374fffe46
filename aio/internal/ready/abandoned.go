//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"math/bits"
	"weak"

	"golang.org/x/sys/unix"
)

// descriptors is a set of descriptors, a bit for each. It refers to nothing else.
type descriptors []uint64

func (s *descriptors) add(fd int32) {
	for int(fd)/64 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[fd/64] |= 1 << (fd % 64)
}

func (s *descriptors) remove(fd int32) { (*s)[fd/64] &^= 1 << (fd % 64) }

// closeAll closes them.
func (s *descriptors) closeAll() {
	for i, word := range *s {
		for ; word != 0; word &= word - 1 {
			_ = unix.Close(64*i + bits.TrailingZeros64(word))
		}
	}
	*s = nil
}

// Abandon returns what closes the driver after its watcher has been collected. It does not
// refer to the driver: what is pending may have a Context that leads to the watcher,
// which could never be collected then. When the driver is gone as well, what is left
// is its descriptors; the poller's closes itself.
func (d *Driver) Abandon() func() {
	w, open := weak.Make(d), d.table.open
	return func() {
		if d := w.Value(); d != nil {
			d.Close()
			return
		}
		open.closeAll()
	}
}
