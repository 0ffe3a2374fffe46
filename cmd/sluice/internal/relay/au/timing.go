package au

// A Timing gives the pictures of one stream times with which none is shown before it is decoded.
// FLV can say that one is; MPEG-TS cannot (ISO/IEC 13818-1, section 2.4.3.7), and where a fragment
// of MP4 does, ffmpeg and what is built on it show all pictures later, beside the sound.
//
// It leaves alone when a picture is shown, and has all decoded earlier, by as much as one was shown
// too early. The first of which that is seen may be shown late, because decode times do not go back.
type Timing struct {
	begun  bool
	given  uint32 // the latest decode time, as it came
	latest uint32 // and as it was returned
	early  int32  // by how much pictures are decoded before the stream says
}

// The longest that pictures are decoded before the stream says, and the shortest step back of its
// times, in ms, that is another clock.
const maxEarly, otherClock = 800, 1000

// Next takes when a picture is decoded and for how long it is not shown then, in ms, in the order of
// decoding, and returns the same for a picture that is shown when it was to be. An offset that is
// returned is not negative, and times do not go back, but where the stream's clock does.
func (t *Timing) Next(time uint32, offset int32) (uint32, int32) {
	if -offset > t.early && -offset <= maxEarly {
		t.early = -offset
	}
	if t.begun && int32(time-t.given) < -otherClock {
		t.begun = false
	}
	shown, decoded := time+uint32(offset), time-uint32(t.early)
	if t.begun && int32(decoded-t.latest) <= 0 {
		decoded = t.latest
		if int32(shown-decoded) > 0 {
			decoded++ // its own, for players that want one for each
		}
	}
	t.begun, t.given, t.latest = true, time, decoded
	return decoded, max(int32(shown-decoded), 0)
}
