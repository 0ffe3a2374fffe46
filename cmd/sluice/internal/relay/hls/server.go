package hls

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// maxStarting bounds the muxers that look for their tracks at one time.
const maxStarting = 64

// Times are how long things stay that are not asked for. Tests make them shorter.
type Times struct {
	First  time.Duration // a viewer who has read a multivariant playlist only
	Idle   time.Duration // a viewer
	Linger time.Duration // a muxer without viewers
	Start  time.Duration // the longest wait for the first segment
}

// Server serves HLS. It does nothing for a stream without HLS viewers.
type Server struct {
	*session.Host
	Times Times
	Tapes tapes // nil: nothing is recorded

	memory  int64 // bytes of all segments together; 0: no limit
	held    atomic.Int64
	streams atomic.Int64 // the length of muxers
	running sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	starting int
	muxers   map[string]*muxer // by stream
	viewers  map[viewerKey]*viewer
	waiting  map[netip.Addr]int // requests that wait, by address
	inAll    int                // and all of them
}

// New makes a server whose segments take at most memory bytes, 0 for no limit.
func New(h *session.Host, memory int64) *Server {
	return &Server{
		Host: h, memory: memory,
		Times:  Times{First: 10 * time.Second, Idle: 15 * time.Second, Linger: 10 * time.Second, Start: 20 * time.Second},
		muxers: map[string]*muxer{}, viewers: map[viewerKey]*viewer{}, waiting: map[netip.Addr]int{},
	}
}

// Close ends all viewers and muxers, and waits for the latter.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	var viewers []*viewer
	for _, v := range s.viewers {
		viewers = append(viewers, v)
	}
	s.mu.Unlock()
	for _, v := range viewers {
		v.end(session.ErrClosing)
	}
	s.mu.Lock()
	for name, m := range s.muxers {
		s.remove(name, m)
	}
	s.mu.Unlock()
	s.running.Wait()
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

// take counts bytes of segments. It returns false when there are too many.
func (s *Server) take(n int64) bool {
	if total := s.held.Add(n); s.memory > 0 && total > s.memory {
		s.held.Add(-n)
		return false
	}
	return true
}

func (s *Server) give(n int64) { s.held.Add(-n) }

// share returns how many bytes one stream may take, so that there is memory for each.
func (s *Server) share() int64 {
	if s.memory == 0 {
		return math.MaxInt64
	}
	return s.memory / max(s.streams.Load(), 1)
}

// started is called when a muxer knows its tracks, or that there are none.
func (s *Server) started() {
	s.mu.Lock()
	s.starting--
	s.mu.Unlock()
}

// use returns the muxer of a stream, for a viewer, who counts as its user from now on
// until the viewer's end. It starts one if there is none.
func (s *Server) use(v *viewer, name string) (*muxer, error) {
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
		m = s.newMuxer(source)
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

// member returns the stream of a group's row: 0 is the stream of that name itself, the
// others those of the patterns in hls-group. It returns "" when the name is not of that
// pattern.
func (s *Server) member(name string, row int) string {
	if row == 0 {
		return name
	}
	before, after, _ := strings.Cut(s.Config().HLSGroup[row-1], "*")
	star, ok := strings.CutPrefix(name, before)
	if !ok || star == "" {
		return ""
	}
	return before + star + after
}

// members returns the rows of a group whose streams there are now.
func (s *Server) members(name string) (rows []int) {
	for row := range len(s.Config().HLSGroup) + 1 {
		if full := s.member(name, row); full != "" {
			if _, ok := s.Hub.Stream(full); ok {
				rows = append(rows, row)
			}
		}
	}
	return rows
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

// Held returns the bytes of all segments, and the number of muxers.
func (s *Server) Held() (bytes int64, muxers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held.Load(), len(s.muxers)
}
