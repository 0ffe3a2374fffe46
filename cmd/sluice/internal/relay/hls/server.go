package hls

import (
	"container/list"
	"context"
	"math"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// Times are how long things stay that are not asked for. Tests make them shorter.
type Times struct {
	First  time.Duration // a viewer who has read a multivariant playlist only
	Fresh  time.Duration // one who has taken no media, when others want the place
	Idle   time.Duration // a viewer
	Linger time.Duration // a muxer without viewers
	Start  time.Duration // the longest wait for the first segment
}

// Server serves HLS. It does nothing for a stream without HLS viewers.
type Server struct {
	*session.Host
	Times Times
	Tapes tapes // nil: nothing is recorded
	// Sending takes a place for an answer with media, which may be long.
	Sending func(r *http.Request) (leave func(), err error)

	files   atomic.Int64 // of recordings, that are held open
	memory  int64        // bytes of all segments together; 0: no limit
	held    atomic.Int64
	streams atomic.Int64 // the length of muxers
	running sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	starting int
	muxers   map[string]*muxer // by stream
	viewers  map[viewerKey]*viewer
	shelves  map[string]*shelf // by stream
	idlers   idlers
	waiting  map[netip.Addr]int // requests that wait, by address
	inAll    int                // and all of them
	most     waitingLimits
}

// A muxer makes the segments of one stream. users, timer and since are under the lock of
// its server.
type muxer struct {
	server *Server
	source *live.Stream
	line   *timeline
	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned
	wait   time.Duration // for the stream's first frame

	users int
	timer *time.Timer // since the last user has gone
	since time.Time

	leftOut []string // codecs, set before done or the first segment; under line.mu
}

// A viewerKey tells viewers apart: by the id in the addresses of their playlists, for
// one stream and from one address. From elsewhere, an id is another viewer's.
type viewerKey struct {
	id      string
	address netip.Addr
	stream  string
}

// A viewer is a session that is made of requests.
type viewer struct {
	server *Server
	key    viewerKey
	client *session.Client
	query  string // behind each address in the viewer's playlists
	began  time.Time

	bytes, frames atomic.Int64
	recorded      atomic.Pointer[past]
	fed           atomic.Bool  // media since it was last looked at
	busy          atomic.Int32 // requests at the moment
	asked         atomic.Int64 // when the last one ended, in ns since began

	// Under the server's lock.
	limit time.Duration // without a request
	timer *time.Timer
	uses  map[string]*muxer
	done  func() // of the admission
	over  bool
	place *list.Element // among the server's idlers
	took  bool          // media, once
	since time.Time     // when it took media, or began
}

// New makes a server whose segments take at most memory bytes, and the requests that wait for
// what comes next so many; 0 for no limit.
func New(h *session.Host, memory, waiting int64) *Server {
	return &Server{
		Host: h, Sending: func(*http.Request) (func(), error) { return func() {}, nil },
		memory: memory, most: mostWaiting(waiting),
		Times:  Times{First: 10 * time.Second, Fresh: time.Second, Idle: 15 * time.Second, Linger: 10 * time.Second, Start: 20 * time.Second},
		muxers: map[string]*muxer{}, viewers: map[viewerKey]*viewer{}, waiting: map[netip.Addr]int{}, shelves: map[string]*shelf{}, idlers: idlers{hosts: map[netip.Prefix]int{}},
	}
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

// Held returns the bytes of all segments, and the number of muxers.
func (s *Server) Held() (bytes int64, muxers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held.Load(), len(s.muxers)
}
