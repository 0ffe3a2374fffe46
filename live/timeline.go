package live

// timeline gives frames their times. A publisher's times are kept unchanged until
// they jump back: because a file begins again, or because another publisher goes on
// with the stream. From then on they are shifted, so that the viewers' time goes on.
type timeline struct {
	shift uint32 // what is added, modulo 2^32 like the times themselves
	last  uint32 // the latest that was given to a frame of media
	step  uint32 // the last that it went on by
	begun bool   // last is of use
	ahead bool   // the next frame of media goes on where last was
}

const (
	// backwards is how far times may run back without that being a new
	// beginning: audio and video are rarely interleaved worse.
	backwards = 1000
	// usualStep is the assumed distance of two frames, in milliseconds, before any
	// distance is known.
	usualStep = 40
	longStep  = 1000
)

// resume says that another publisher goes on with the stream.
func (t *timeline) resume() { t.ahead = t.begun }

// place returns the time of a frame for the viewers.
func (t *timeline) place(time uint32, k kind) uint32 {
	if !k.media() {
		if t.ahead || t.begun && int32(t.last-(time+t.shift)) > backwards {
			return t.last
		}
		return time + t.shift
	}
	switch {
	case !t.begun:
		t.begun = true
		t.last = time
		return time
	case t.ahead, int32(t.last-(time+t.shift)) > backwards:
		step := t.step
		if step == 0 {
			step = usualStep
		}
		t.shift = t.last + step - time
		t.ahead = false
	}
	out := time + t.shift
	if d := int32(out - t.last); d > 0 {
		if d <= longStep {
			t.step = uint32(d)
		}
		t.last = out
	}
	return out
}
