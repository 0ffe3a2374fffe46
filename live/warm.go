package live

import "time"

// A warm is what is kept of a publisher that waits: its headers, and its frames since the
// newest key frame.
type warm struct {
	looks   ring // only to classify
	began   int64
	headers *headers
	before  *headers // the key frame
	frames  []Frame  // from that one on; retained
	bytes   int
	held    int64 // memory that they take
	came    int64 // when the key frame did
	account *account
}

// aloneAfter is for how long a publisher has to be without video until a stream of audio alone is
// taken from it, and without both until one of data alone is: the others often come a little later.
const aloneAfter = time.Second

// newWarm counts as one more ring, until end.
func newWarm(now int64, h *headers, a *account) *warm {
	a.rings.Add(1)
	return &warm{began: now, headers: h, before: h, account: a}
}

func (w *warm) end() {
	w.drop()
	w.account.rings.Add(-1)
}

func (w *warm) drop() {
	for i := range w.frames {
		w.frames[i].Payload.Release()
	}
	w.account.held.Add(-w.held)
	w.frames, w.bytes, w.held = w.frames[:0], 0, 0
}

// trim drops the frames when they take more than most bytes of memory: without their beginning they
// are of no use.
func (w *warm) trim(most int64) {
	if w.held > most {
		w.drop()
	}
}

// keep keeps a frame, borrowed, and reports whether viewers can begin with it.
func (w *warm) keep(f Frame, now int64, o *StreamOptions) (start bool) {
	k, t := w.looks.classify(f.Type, f.Payload.Bytes())
	switch {
	case k&isKey != 0:
		start = true
	case time.Duration(now-w.began) <= aloneAfter:
	case k.data():
		start = !w.looks.hasMedia
	default:
		start = !w.looks.hasVideo && k&isAudio != 0 && k.media()
	}
	switch {
	case start:
		w.drop()
		w.before, w.came = w.headers, now
	case len(w.frames) == 0:
	case len(w.frames) >= o.GOPFrames || w.bytes+f.Payload.Len() > o.GOPBytes || time.Duration(now-w.came) > o.GOPTime:
		w.drop() // of no use without its beginning
	}
	if start || len(w.frames) > 0 {
		took := int64(0) // neighbours in one block count once
		if k := len(w.frames) - 1; k < 0 || !together(w.frames[k].Payload, f.Payload) {
			took = blockSize(o.Allocator, f.Payload)
		}
		w.frames = append(w.frames, Frame{Type: f.Type, Time: f.Time, Payload: f.Payload.Retain()})
		w.bytes += f.Payload.Len()
		w.held += took
		w.account.held.Add(took)
		w.trim(w.account.share())
	}
	if k&(isConfig|isMeta|isDetail) != 0 {
		w.headers = w.headers.with(k, t, f.Payload.Bytes())
	}
	return start
}
