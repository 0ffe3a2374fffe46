//go:build unix && !linux && !aix && !solaris && !illumos

package socket

// CanGather is false: what is queued goes out part by part.
const CanGather = false

// MaxParts is the most that one write takes.
const MaxParts = 1

// Gather is not used where CanGather is false.
type Gather struct{ Size int }

// NewGather is not called.
func NewGather() *Gather { return new(Gather) }

// Release does nothing.
func (*Gather) Release() {}

// Full says that nothing fits.
func (*Gather) Full() bool { return true }

// Add does nothing.
func (*Gather) Add([]byte) {}

// WriteTo does nothing.
func (*Gather) WriteTo(*Socket) (int, error) { return 0, nil }
