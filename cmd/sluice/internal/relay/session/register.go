package session

import (
	"cmp"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/live"
)

// A Role is what a session does.
type Role string

const (
	RolePublisher Role = "publisher"
	RoleViewer    Role = "viewer"
)

// Figures are those of one session.
type Figures struct {
	Bytes   int64 // received from a publisher, sent to a viewer
	Frames  int64
	Lag     time.Duration // how far a viewer is behind the newest frame
	Jumps   int64         // times that a viewer was moved to a newer key frame
	Dropped int64         // frames that it missed by that
	Merge   time.Duration
}

// A Register has the sessions that are on, publishers and viewers.
type Register struct {
	log *slog.Logger

	mu             sync.Mutex
	byID           map[string]*Client
	last           map[Role]uint64 // number of the newest id
	began          map[Kind]int64
	past           map[Kind]Figures // of sessions that have ended
	refused, ended map[Outcome]int64
}

// A Kind is by what sessions are counted.
type Kind struct {
	Role     Role
	Protocol string
}

// NewRegister makes an empty one, which logs beginnings and endings.
func NewRegister(log *slog.Logger) *Register {
	return &Register{
		log:     log,
		byID:    map[string]*Client{},
		last:    map[Role]uint64{},
		began:   map[Kind]int64{},
		past:    map[Kind]Figures{},
		refused: map[Outcome]int64{},
		ended:   map[Outcome]int64{},
	}
}

// Action is what a session of that role asks the gate for.
func (r Role) Action() access.Action {
	if r == RolePublisher {
		return access.Publish
	}
	return access.Play
}

// A Client is one session in the register, from Begin to End. Its methods may be
// called by any goroutine.
type Client struct {
	Info
	books *Register
	ID    string // p1, p2... and v1, v2...
	Role  Role
	Since time.Time

	// A publisher's session counts here; a viewer's figures come from stats.
	bytes, Frames atomic.Int64

	mu     sync.Mutex
	stats  func() Figures
	kick   func(error)
	kicked error // why, when that came before there was a way to
	over   bool
}

// Begin takes a session up and logs that. It is followed by end.
func (c *Register) Begin(r Role, info Info) *Client {
	info.Agent = shortAgent(info.Agent)
	info.Token = access.TokenID(info.Query.Get("token"))
	info.Query = nil // it has the token in it
	s := &Client{Info: info, books: c, Role: r, Since: time.Now()}
	c.mu.Lock()
	c.last[r]++
	c.began[Kind{r, info.Protocol}]++
	s.ID = string(r[0]) + strconv.FormatUint(c.last[r], 10)
	c.byID[s.ID] = s
	c.mu.Unlock()
	c.log.Info(string(r)+" started", "id", s.ID, "stream", s.Stream, "protocol", s.Protocol, "address", s.Address, "agent", s.Agent)
	return s
}

// Attach says where the figures come from, nil for count, and how the session
// is ended; kick must not wait. It may be called again; a nil kick leaves the
// one there is.
func (s *Client) Attach(stats func() Figures, kick func(error)) {
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

// Count adds a frame of n bytes, its header included, that a publisher sent.
func (s *Client) Count(n int) {
	s.bytes.Add(int64(n))
	s.Frames.Add(1)
}

// Figures returns the figures at this moment.
func (s *Client) Figures() Figures {
	s.mu.Lock()
	stats := s.stats
	s.mu.Unlock()
	if stats != nil {
		return stats()
	}
	return Figures{Bytes: s.bytes.Load(), Frames: s.Frames.Load()}
}

// Stop ends the session for the given reason, as soon as it can be.
func (s *Client) Stop(reason error) {
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

// End takes the session out of the books and logs why it ended, unless that has
// been done. What somebody gave as the reason to stop it goes before what it
// died of then; end returns the one that holds.
func (s *Client) End(reason error) error {
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
	f := s.Figures()
	kind := Kind{s.Role, s.Protocol}
	c.mu.Lock()
	delete(c.byID, s.ID)
	c.past[kind] = c.past[kind].plus(f)
	c.ended[Outcome{s.Role, Code(reason)}]++
	c.mu.Unlock()
	attributes := []any{"id", s.ID, "stream", s.Stream, "protocol", s.Protocol, "address", s.Address, "agent", s.Agent,
		"reason", Words(reason), "bytes", f.Bytes, "frames", f.Frames, "duration", time.Since(s.Since).Round(time.Millisecond)}
	if s.Role == RoleViewer {
		attributes = append(attributes, "jumps", f.Jumps, "dropped", f.Dropped)
	}
	c.log.Info(string(s.Role)+" ended", attributes...)
	return reason
}

// Number returns how many sessions of a role are on.
func (c *Register) Number(r Role) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, s := range c.byID {
		if s.Role == r {
			n++
		}
	}
	return n
}

// Get returns the session of that id.
func (c *Register) Get(id string) (*Client, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.byID[id]
	return s, ok
}

// List returns the sessions that are on, the oldest first, publishers before
// viewers.
func (c *Register) List() []*Client {
	c.mu.Lock()
	list := make([]*Client, 0, len(c.byID))
	for _, s := range c.byID {
		list = append(list, s)
	}
	c.mu.Unlock()
	slices.SortFunc(list, func(a, b *Client) int {
		// The ids are p1 ... p10: shorter ones are older.
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// viewerStats returns what asks a viewer for its figures.
func viewerStats(v *live.Viewer) func() Figures {
	return func() Figures {
		f := v.Stats()
		return Figures{Bytes: f.Bytes, Frames: f.Frames, Lag: f.Lag, Jumps: f.Jumps, Dropped: f.Dropped, Merge: f.Merge}
	}
}

// shortAgent is as much of an agent as is kept, in whole characters.
func shortAgent(agent string) string {
	if len(agent) > maxAgent {
		agent = agent[:maxAgent]
	}
	return strings.ToValidUTF8(agent, "")
}
