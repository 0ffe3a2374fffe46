package live

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// wait lets p wait. The lock is held, as for those below.
func (s *Stream) wait(p *Publisher, h *headers) {
	s.standbys.add(p, newWarm(s.clock(), h, s.account))
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
	// What began after the latest frame of the publisher repeats nothing.
	if !s.free(now) || len(w.frames) == 0 || !start && w.came <= s.standbys.fresh {
		return nil
	}
	old := s.now
	if old != nil && old.standby {
		s.wait(old, s.ring.set) // it may send again
	} else if old != nil {
		old.finish(ErrTakenOver)
	}
	s.begin(p)
	s.standbys.unlist(p)
	w.before.each(func(typ flv.TagType, body []byte) {
		if !s.ring.set.have(typ, body) {
			payload := mem.Wrap(body, nil)
			s.append(p, Frame{Type: typ, Time: w.frames[0].Time, Payload: payload}, now)
			payload.Release()
		}
	})
	for i := range w.frames {
		s.append(p, w.frames[i], now)
	}
	s.standbys.remove(p)
	s.wakeAll(false)
	return func() {
		if old != nil && old.standby {
			old.notify(false)
		}
		p.notify(true)
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
