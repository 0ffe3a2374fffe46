package poller

// Bits say what a descriptor is ready for.
type Bits uint8

// The bits of an event.
const (
	Readable Bits = 1 << iota
	Writable
	// Unsure: a short read proves nothing, and no further edge need come. The peer
	// has sent its last byte, the connection is broken, or there is urgent data,
	// at which a read stops short.
	Unsure
	// Free is the first bit that is not used here.
	Free
)
