package relay

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/live"
)

type role string

const (
	rolePublisher role = "publisher"
	roleViewer    role = "viewer"
)

// clientStats are the figures of one session.
type clientStats struct {
	Bytes   int64 // received from a publisher, sent to a viewer
	Frames  int64
	Lag     time.Duration // how far a viewer is behind the newest frame
	Jumps   int64         // times that a viewer was moved to a newer key frame
	Dropped int64         // frames that it missed by that
	Merge   time.Duration
}

// clients are the books about everybody who publishes or watches.
type clients struct {
	log *slog.Logger

	mu    sync.Mutex
	byID  map[string]*client
	last  map[role]uint64 // number of the newest id
	began map[sessionKind]int64
}

// sessionKind is by what sessions are counted.
type sessionKind struct {
	role     role
	protocol string
}

func newClients(log *slog.Logger) *clients {
	return &clients{
		log:   log,
		byID:  map[string]*client{},
		last:  map[role]uint64{},
		began: map[sessionKind]int64{},
	}
}

// A client is one session in the books, from begin to end. Its methods may be
// called by any goroutine.
type client struct {
	sessionInfo
	books *clients
	id    string // p1, p2... and v1, v2...
	role  role
	since time.Time

	// A publisher's session counts here; a viewer's figures come from stats.
	bytes, frames atomic.Int64

	mu     sync.Mutex
	stats  func() clientStats
	kick   func(error)
	kicked error // why, when that came before there was a way to
	over   bool
}

// begin takes a session up and logs that. It is followed by end.
func (c *clients) begin(r role, info sessionInfo) *client {
	info.Agent = shortAgent(info.Agent)
	info.Query = nil // it has the token in it
	s := &client{sessionInfo: info, books: c, role: r, since: time.Now()}
	c.mu.Lock()
	c.last[r]++
	c.began[sessionKind{r, info.Protocol}]++
	s.id = string(r[0]) + strconv.FormatUint(c.last[r], 10)
	c.byID[s.id] = s
	c.mu.Unlock()
	c.log.Info(string(r)+" started", "id", s.id, "stream", s.Stream, "protocol", s.Protocol, "address", s.Address, "agent", s.Agent)
	return s
}

// attach says where the figures come from, nil for count, and how the session
// is ended; kick must not wait. It may be called again; a nil kick leaves the
// one there is.
func (s *client) attach(stats func() clientStats, kick func(error)) {
	s.mu.Lock()
	if stats != nil {
		s.stats = stats
	}
	if kick != nil {
		s.kick = kick
	}
	kicked := s.kicked
	if s.over {
		kicked = nil
	}
	s.mu.Unlock()
	if kicked != nil && kick != nil {
		kick(kicked)
	}
}

// count adds a frame of n bytes, its header included, that a publisher sent.
func (s *client) count(n int) {
	s.bytes.Add(int64(n))
	s.frames.Add(1)
}

// figures returns the figures at this moment.
func (s *client) figures() clientStats {
	s.mu.Lock()
	stats := s.stats
	s.mu.Unlock()
	if stats != nil {
		return stats()
	}
	return clientStats{Bytes: s.bytes.Load(), Frames: s.frames.Load()}
}

// stop ends the session for the given reason, as soon as it can be.
func (s *client) stop(reason error) {
	s.mu.Lock()
	kick := s.kick
	if s.kicked == nil {
		s.kicked = reason
	}
	s.mu.Unlock()
	if kick != nil {
		kick(reason)
	}
}

// end takes the session out of the books and logs why it ended, unless that has
// been done. What somebody gave as the reason to stop it goes before what it
// died of then; end returns the one that holds.
func (s *client) end(reason error) error {
	s.mu.Lock()
	if s.kicked != nil {
		reason = s.kicked
	}
	if s.over {
		s.mu.Unlock()
		return reason
	}
	s.over = true
	s.mu.Unlock()
	c := s.books
	c.mu.Lock()
	delete(c.byID, s.id)
	c.mu.Unlock()
	f := s.figures()
	why := "done"
	if reason != nil {
		why = strings.TrimPrefix(reason.Error(), "live: ")
	}
	attributes := []any{"id", s.id, "stream", s.Stream, "protocol", s.Protocol, "address", s.Address, "agent", s.Agent,
		"reason", why, "bytes", f.Bytes, "frames", f.Frames, "duration", time.Since(s.since).Round(time.Millisecond)}
	if s.role == roleViewer {
		attributes = append(attributes, "jumps", f.Jumps, "dropped", f.Dropped)
	}
	c.log.Info(string(s.role)+" ended", attributes...)
	return reason
}

// number returns how many sessions of a role are on.
func (c *clients) number(r role) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, s := range c.byID {
		if s.role == r {
			n++
		}
	}
	return n
}

// census returns how many sessions are on, and how many have begun, by kind.
func (c *clients) census() (on, began map[sessionKind]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	on = map[sessionKind]int64{}
	for _, s := range c.byID {
		on[sessionKind{s.role, s.Protocol}]++
	}
	return on, maps.Clone(c.began)
}

// get returns the session of that id.
func (c *clients) get(id string) (*client, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.byID[id]
	return s, ok
}

// list returns the sessions that are on, the oldest first, publishers before
// viewers.
func (c *clients) list() []*client {
	c.mu.Lock()
	list := make([]*client, 0, len(c.byID))
	for _, s := range c.byID {
		list = append(list, s)
	}
	c.mu.Unlock()
	slices.SortFunc(list, func(a, b *client) int {
		// The ids are p1 ... p10: shorter ones are older.
		return cmp.Or(cmp.Compare(a.role, b.role), cmp.Compare(len(a.id), len(b.id)), cmp.Compare(a.id, b.id))
	})
	return list
}

// viewerStats returns what asks a viewer for its figures.
func viewerStats(v *live.Viewer) func() clientStats {
	return func() clientStats {
		f := v.Stats()
		return clientStats{Bytes: f.Bytes, Frames: f.Frames, Lag: f.Lag, Jumps: f.Jumps, Dropped: f.Dropped, Merge: f.Merge}
	}
}

// shortAgent is as much of an agent as is kept, in whole characters.
func shortAgent(agent string) string {
	if len(agent) > maxAgent {
		agent = agent[:maxAgent]
	}
	return strings.ToValidUTF8(agent, "")
}
