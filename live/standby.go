package live

import (
	"bytes"
	"slices"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// standbys are the publishers of a stream that wait to take the place of the one that
// viewers get.
//
//	        Hub.Publish, Standby
//	                 |
//	                 v    next key frame, place is free and not held
//	Close <------ waiting --------------------------> publishing ------> Close
//	                 ^                                    |
//	                 +---- Hold, or silent for too long --+
type standbys struct {
	fresh   int64        // when the latest frame came from the publisher, on the stream's clock
	waiting []*Publisher // in the order in which they came
	held    bool         // none may begin: the stream's publisher is on another server
	numbers numbers      // of the marks of all of them
}

// numbers gives the frames of a publication their marks.
type numbers struct{ epoch, last uint64 }

func (n *numbers) next(at uint32) Mark {
	if n.epoch == 0 {
		return Mark{}
	}
	n.last++
	return Mark{n.epoch, n.last, at}
}

// A warm is what is kept of a publisher that waits: its headers, and its frames since the
// newest key frame.
type warm struct {
	looks   ring // only to classify
	began   int64
	headers *headers
	before  *headers // the key frame
	group   []Frame  // retained
	bytes   int
	held    int64 // memory that they take
	came    int64 // when the key frame of the group did
	account *account
}

// audioOnly is for how long a publisher has to be without video until a stream of audio
// alone is taken from it: video often comes a little later.
const audioOnly = time.Second

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
	for i := range w.group {
		w.group[i].Payload.Release()
	}
	w.account.held.Add(-w.held)
	w.group, w.bytes, w.held = w.group[:0], 0, 0
}

// trim drops the group when it takes more than most bytes of memory: without its beginning it
// is of no use.
func (w *warm) trim(most int64) {
	if w.held > most {
		w.drop()
	}
}

// keep keeps a frame, borrowed, and reports whether viewers can begin with it.
func (w *warm) keep(f Frame, now int64, o *StreamOptions) (start bool) {
	k, t := w.looks.classify(f.Type, f.Payload.Bytes())
	start = k&isKey != 0 || !w.looks.hasVideo && k&isAudio != 0 && k.media() && time.Duration(now-w.began) > audioOnly
	switch {
	case start:
		w.drop()
		w.before, w.came = w.headers, now
	case len(w.group) == 0:
	case len(w.group) >= o.GOPFrames || w.bytes+f.Payload.Len() > o.GOPBytes || time.Duration(now-w.came) > o.GOPTime:
		w.drop() // of no use without its beginning
	}
	if start || len(w.group) > 0 {
		w.group = append(w.group, Frame{Type: f.Type, Time: f.Time, Payload: f.Payload.Retain()})
		n := f.Payload.Len()
		took := int64(n) // small ones come many to a block
		if n >= keepFrom {
			took = int64(blockOf(n))
		}
		w.bytes += n
		w.held += took
		w.account.held.Add(took)
		w.trim(w.account.share())
	}
	if k&(isConfig|isMeta|isColor) != 0 {
		w.headers = w.headers.with(k, t, f.Payload.Bytes())
	}
	return start
}

// wait lets p wait. The lock is held, as for those below.
func (s *Stream) wait(p *Publisher, h *headers) {
	p.warm = newWarm(s.clock(), h, s.account)
	s.standbys.waiting = append(s.standbys.waiting, p)
}

// unwait ends that p waits.
func (s *Stream) unwait(p *Publisher) {
	if p.warm == nil {
		return
	}
	s.unlist(p)
	p.warm.end()
	p.warm = nil
}

// unlist takes p off those that wait. From then on its group is not trimmed.
func (s *Stream) unlist(p *Publisher) {
	s.standbys.waiting = slices.DeleteFunc(s.standbys.waiting, func(o *Publisher) bool { return o == p })
}

// free reports whether a publisher that waits may begin.
func (s *Stream) free(now int64) bool {
	if s.standbys.held {
		return false
	}
	return s.now == nil || s.now.yields || s.options.Silence > 0 && time.Duration(now-s.standbys.fresh) > s.options.Silence
}

// publishWaiting takes a frame, borrowed, of a publisher that waits. When that begins by
// it, it returns what has to be called without the lock.
func (s *Stream) publishWaiting(p *Publisher, f Frame) (after func()) {
	now := s.clock()
	w := p.warm
	start := w.keep(f, now, &s.options)
	// A group that began after the latest frame of the publisher repeats nothing.
	if !s.free(now) || len(w.group) == 0 || !start && w.came <= s.standbys.fresh {
		return nil
	}
	old := s.now
	if old != nil && old.standby {
		s.wait(old, s.ring.set) // it may send again
	} else if old != nil {
		old.finish(ErrTakenOver)
	}
	if s.end.grace != nil {
		s.end.grace.Stop()
		s.end.grace = nil
	}
	s.times.resume()
	s.pace = pace{}
	s.now = p
	s.unlist(p)
	w.before.each(func(typ flv.TagType, body []byte) {
		if !s.ring.set.have(typ, body) {
			payload := mem.Wrap(body, nil)
			s.append(p, Frame{Type: typ, Time: w.group[0].Time, Payload: payload}, now)
			payload.Release()
		}
	})
	for i := range w.group {
		s.append(p, w.group[i], now)
	}
	s.unwait(p)
	s.wakeAll(false)
	return func() {
		if old != nil && old.standby {
			old.notify(false)
		}
		p.notify(true)
	}
}

// append appends a frame, borrowed, of p, which publishes now.
func (s *Stream) append(p *Publisher, f Frame, now int64) {
	k, t := s.ring.classify(f.Type, f.Payload.Bytes())
	s.store(p, f, k, t, now)
}

// have reports whether a header is in the set.
func (h *headers) have(typ flv.TagType, body []byte) bool {
	return slices.ContainsFunc(h.list, func(o header) bool { return o.typ() == typ && bytes.Equal(o.body, body) })
}

func (p *Publisher) notify(on bool) {
	if p.active != nil {
		p.active(on)
	}
}

// Hold says whether the stream's publisher has to be on another server. Then this one's
// waits with the others, and a publisher with PublishOptions.Yields may
// bring the stream from there.
func (s *Stream) Hold(on bool) {
	s.mu.Lock()
	p := s.now
	if !on && s.standbys.held && p == nil {
		s.standbys.fresh = s.clock() // what came from the other server until now is not known
	}
	s.standbys.held = on
	demote := on && p != nil && p.standby
	if demote {
		s.now = nil
		s.wait(p, s.ring.set)
	}
	s.mu.Unlock()
	if demote {
		p.notify(false)
	}
}

// Renumber sets the epoch of the marks that frames of publishers with
// PublishOptions.Standby get from now on.
func (s *Stream) Renumber(epoch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standbys.numbers = numbers{epoch: epoch}
}

// Waiting returns the publishers that wait to take the place of the one that viewers
// get, the first that came first.
func (s *Stream) Waiting() []*Publisher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.standbys.waiting)
}

// EndAtKey ends the stream before its next key frame, so that viewers who go on elsewhere
// miss no picture; at once when there is no publisher: one that takes its place begins with a
// key frame.
func (s *Stream) EndAtKey() {
	s.mu.Lock()
	s.end.atKey = true
	idle := s.now == nil
	s.mu.Unlock()
	if idle {
		s.finish()
	}
}

// Silent is for how long no frame has come from the publisher.
func (s *Stream) Silent() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(s.clock() - s.standbys.fresh)
}
