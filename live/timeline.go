package live

// timeline gives frames their times. A publisher's times are kept unchanged until
// they jump back: because a file begins again, or because another publisher goes on
// with the stream. From then on they are shifted, so that the viewers' time goes on.
//
// Pictures jump back when they are behind pictures, and sound when it is behind sound: an
// encoder or a camera may have the two seconds apart all the time.
type timeline struct {
	shift uint32 // what is added, modulo 2^32 like the times themselves
	last  uint32 // the latest that was given to a frame of media
	step  uint32 // the last that it went on by
	begun bool   // last is of use
	ahead bool   // the next frame of media goes on where last was

	pictures, sound latest
}

// latest is the latest time of one kind of media since the times were shifted.
type latest struct {
	at    uint32
	known bool
}

const (
	// backwards is how far times may run back without that being a new
	// beginning: frames of one kind are in the order in which they are decoded.
	backwards = 1000
	// usualStep is the assumed distance of two frames, in milliseconds, before any
	// distance is known.
	usualStep = 40
	longStep  = 1000
)

// resume says that another publisher goes on with the stream.
func (t *timeline) resume() { t.ahead = t.begun }

// of returns the latest time of the kind of a frame; nil of other data.
func (t *timeline) of(k kind) *latest {
	switch {
	case k&isVideo != 0:
		return &t.pictures
	case k&isAudio != 0:
		return &t.sound
	}
	return nil
}

// place returns the time of a frame for the viewers.
func (t *timeline) place(time uint32, k kind) uint32 {
	kind := t.of(k)
	if !k.media() {
		have := latest{t.last, t.begun}
		if kind != nil && kind.known {
			have = *kind
		}
		if t.ahead || have.before(time+t.shift) {
			return t.last
		}
		return time + t.shift
	}
	switch {
	case !t.begun:
		t.begun, t.last = true, time
	case t.ahead, kind.before(time + t.shift):
		step := t.step
		if step == 0 {
			step = usualStep
		}
		t.shift = t.last + step - time
		t.ahead = false
		t.pictures, t.sound = latest{}, latest{}
	}
	out := time + t.shift
	if d := int32(out - t.last); d > 0 {
		if d <= longStep {
			t.step = uint32(d)
		}
		t.last = out
	}
	if !kind.known || int32(out-kind.at) > 0 {
		*kind = latest{out, true}
	}
	return out
}

// before reports whether a time is so far behind that another beginning has it.
func (l *latest) before(at uint32) bool {
	return l.known && int32(l.at-at) > backwards
}
