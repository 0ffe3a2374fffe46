package hls

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// maxStarting bounds the muxers that look for their tracks at one time.
const maxStarting = 64

// use returns the muxer of a stream, for a viewer, who counts as its user from now on
// until the viewer's end. It starts one if there is none, which waits so long for a first frame.
func (s *Server) use(v *viewer, name string, wait time.Duration) (*muxer, error) {
	source, there := s.Hub.Stream(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.muxers[name]
	if m != nil && there && (m.source != source || m.failed()) {
		s.remove(name, m) // another stream of that name; viewers of the old one are gone with it
		m = nil
	}
	if m == nil {
		switch {
		case s.closed || s.Closing():
			return nil, session.ErrClosing
		case !there:
			return nil, fmt.Errorf("%w: %s", session.ErrNotFound, name)
		case s.starting >= maxStarting:
			return nil, fmt.Errorf("%w: %d streams begin to be served by HLS", session.ErrFull, s.starting)
		case s.memory > 0 && s.held.Load() > s.memory/10*9:
			return nil, errMemory
		}
		if err := s.Room(); err != nil {
			return nil, err
		}
		s.starting++
		m = s.newMuxer(source, wait)
		s.muxers[name] = m
		s.streams.Store(int64(len(s.muxers)))
	}
	if v.uses[name] != m {
		if !v.add(name, m) {
			return nil, errGone
		}
	}
	return m, nil
}

// add counts the viewer as a user of a muxer. The server's lock is held. It returns false
// when the viewer has ended.
func (v *viewer) add(name string, m *muxer) bool {
	if v.over {
		return false
	}
	if old := v.uses[name]; old != nil {
		old.users--
	}
	v.uses[name] = m
	m.users++
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
	return true
}

// release ends a viewer's use of a muxer, which ends some time after its last user. The
// lock is held.
func (s *Server) release(name string, m *muxer) {
	if m.users--; m.users > 0 || s.muxers[name] != m {
		return
	}
	m.timer = time.AfterFunc(s.Times.Linger, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if m.users == 0 && s.muxers[name] == m {
			s.remove(name, m)
		}
	})
}

// remove ends a muxer. The lock is held.
func (s *Server) remove(name string, m *muxer) {
	if s.muxers[name] == m {
		delete(s.muxers, name)
		s.streams.Store(int64(len(s.muxers)))
	}
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
	m.stop()
}

// Status returns what the API says of a stream, and whether it is served at the moment.
func (s *Server) Status(name string) (Status, bool) {
	s.mu.Lock()
	m := s.muxers[name]
	s.mu.Unlock()
	if m == nil {
		return Status{}, false
	}
	return m.status(), true
}
