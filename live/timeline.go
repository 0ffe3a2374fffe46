package live

// timeline gives frames their times. A publisher's times are kept unchanged until
// they jump back: because a file begins again, or because another publisher goes on
// with the stream. From then on they are shifted, so that the viewers' time goes on.
//
// Pictures jump back when they are behind pictures, and sound when it is behind sound: an
// encoder or a camera may have the two seconds apart all the time. Where the two are so far
// apart that no player could wait for one of them, they have clocks of their own: the one
// that comes second goes on where the first is.
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
	own   uint32 // what is added to the times of this kind besides
}

const (
	// backwards is how far times may run back without that being a new
	// beginning: frames of one kind are in the order in which they are decoded.
	backwards = 1000
	// usualStep is the assumed distance of two frames, in milliseconds, before any
	// distance is known.
	usualStep = 40
	longStep  = 1000
	// apart is how far pictures and sound may be from each other: writers of files hold
	// one track back for the other for so long.
	apart = 10_000
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

// own is what is added to the times of a kind alone.
func (t *timeline) own(k kind) uint32 {
	if kind := t.of(k); kind != nil {
		return kind.own
	}
	return 0
}

// foreign reports whether a time is of the first frame of a kind, and of another clock than
// the other kind has.
func (t *timeline) foreign(kind *latest, at uint32) bool {
	other := &t.pictures
	if kind == other {
		other = &t.sound
	}
	d := int32(at - other.at)
	return !kind.known && other.known && (d > apart || d < -apart)
}

// place returns the time of a frame for the viewers.
func (t *timeline) place(time uint32, k kind) uint32 {
	kind := t.of(k)
	if !k.media() {
		have, at := latest{at: t.last, known: t.begun}, time+t.shift
		if kind != nil {
			at += kind.own
		}
		if kind != nil && kind.known {
			have = *kind
		}
		if t.ahead || have.before(at) || kind != nil && t.foreign(kind, at) {
			return t.last
		}
		return at
	}
	switch at := time + t.shift + kind.own; {
	case !t.begun:
		t.begun, t.last = true, time
	case t.ahead, kind.before(at):
		step := t.step
		if step == 0 {
			step = usualStep
		}
		t.shift = t.last + step - time
		t.ahead = false
		t.pictures, t.sound = latest{}, latest{}
	case t.foreign(kind, at):
		kind.own += t.last - at
	}
	out := time + t.shift + kind.own
	if d := int32(out - t.last); d > 0 {
		if d <= longStep {
			t.step = uint32(d)
		}
		t.last = out
	}
	if !kind.known || int32(out-kind.at) > 0 {
		kind.at, kind.known = out, true
	}
	return out
}

// before reports whether a time is so far behind that another beginning has it.
func (l *latest) before(at uint32) bool {
	return l.known && int32(l.at-at) > backwards
}
