package record

import "github.com/sluice-go/sluice/flv"

const (
	// early is how many milliseconds before the first frame a frame's time may
	// be: audio and video times differ a little. Times have 32 bits and wrap, so
	// a later frame may look earlier.
	early = 60_000
	// soundWait is for how many milliseconds of a stream a file's first write waits for sound
	// that is as new as the first frame: until then its 0 may become earlier.
	soundWait = 1000
	// waitMost ends that too: it is in memory until then.
	waitMost = 4 << 20
)

// An origin is the 0 of an FLV file. Sound often comes behind pictures that are newer: the
// oldest frame is at 0, as far as it comes before the first write.
type origin struct {
	first   uint32 // time of the first frame in the file
	zero    uint32 // of the oldest
	settled bool   // there was the first write
	waits   bool   // that waits for sound
}

// came says that a frame comes next.
func (o *origin) came(h flv.TagHeader) {
	d := h.Time - o.first
	switch {
	case o.settled || h.Type == flv.TagScript:
	case d != 0 && -d <= early:
		o.zero = o.first - max(o.first-o.zero, -d)
	case h.Type == flv.TagAudio || d >= soundWait:
		o.waits = false
	}
}

// span returns how many milliseconds after 0 a time is.
func (o *origin) span(t uint32) uint32 {
	d := t - o.zero
	if -d <= early {
		return 0
	}
	return d
}
