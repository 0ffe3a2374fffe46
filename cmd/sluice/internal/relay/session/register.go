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
	Jumps   int64         // how often a viewer was moved to a newer key frame
	Dropped int64         // frames that it missed that way
	Merge   time.Duration
}

// A Register holds the active sessions, publishers and viewers.
type Register struct {
	log      *slog.Logger
	observer Observer // nil: none
	at       string   // behind the number in ids: @ and this server's name, in a cluster

	mu             sync.Mutex
	byID           map[string]*Client
	last           map[Role]uint64 // number of the newest id
	there          map[Role]int    // active sessions
	began          map[Kind]int64
	past           map[Kind]Figures // of sessions that have ended
	refused, ended map[Outcome]int64
}

// An Observer is called when sessions begin and when they have ended: once for
// each, in that order. It must not wait.
type Observer interface {
	Began(s *Client)
	Ended(s *Client, f Figures, reason error)
}

// Observe sets the observer, before the first session.
func (c *Register) Observe(o Observer) { c.observer = o }

// Name makes ids those of one server of several: v1@name. Call it before the first session.
func (c *Register) Name(name string) { c.at = "@" + name }

// A Kind is the key by which sessions are counted.
type Kind struct {
	Role     Role
	Protocol string
}

// NewRegister makes an empty register, which logs when sessions begin and end.
func NewRegister(log *slog.Logger) *Register {
	return &Register{
		log:     log,
		byID:    map[string]*Client{},
		last:    map[Role]uint64{},
		there:   map[Role]int{},
		began:   map[Kind]int64{},
		past:    map[Kind]Figures{},
		refused: map[Outcome]int64{},
		ended:   map[Outcome]int64{},
	}
}

// Action is the action for the gate of a session with that role.
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
	ID    string // p1, p2... and v1, v2..., in a cluster p1@name
	Role  Role
	Since time.Time

	// A publisher's session counts here; a viewer's figures come from stats.
	bytes, Frames atomic.Int64

	mu     sync.Mutex
	stats  func() Figures
	kick   func(error)
	kicked error      // the reason, when Stop came before Attach
	atKey  func()     // ends it before a key frame; nil: it cannot end so
	line   *MediaLine // nil: OnLine was not called
	mover  *Mover     // nil: it cannot be given to another process
	over   bool
}

// Begin adds an admitted session to the register. The caller must call End.
func (h *Host) Begin(r Role, info Info) *Client {
	// Without protection no token was verified, and the id in it may be forged.
	if info.Token = ""; h.Gate.Protected(r.Action(), info.Stream) {
		info.Token = access.TokenID(info.Query.Get("token"))
	}
	c := h.Register.Begin(r, info)
	if h.Gate.Banned(info.Request(r.Action()), info.Token) != nil {
		// The ban came while a viewer waited for its stream, and did not find it here.
		c.Stop(ErrKicked)
	}
	if r == RolePublisher && h.Cluster != nil {
		// StopPublishers does not find those who are not in the register yet.
		if err := h.Cluster.Lost(info.Stream); err != nil {
			c.Stop(err)
		}
	}
	return c
}

// Begin adds a session and logs that. The caller must call End.
func (c *Register) Begin(r Role, info Info) *Client {
	info.Agent = shortAgent(info.Agent)
	info.Query = nil // it may have a secret in it
	s := &Client{Info: info, books: c, Role: r, Since: time.Now()}
	c.mu.Lock()
	c.last[r]++
	c.there[r]++
	c.began[Kind{r, info.Protocol}]++
	s.ID = string(r[0]) + strconv.FormatUint(c.last[r], 10) + c.at
	c.byID[s.ID] = s
	c.mu.Unlock()
	c.log.Info(string(r)+" started", "id", s.ID, "stream", s.Stream, "protocol", s.Protocol, "address", s.Address, "agent", s.Agent)
	if c.observer != nil {
		c.observer.Began(s)
	}
	return s
}

// Attach sets the source of the figures, nil for Count, and the function that
// ends the session; kick must not block. It may be called again; a nil kick keeps
// the earlier one.
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

// EndBecause makes reason the one that the session ends for, unless there is one already.
func (s *Client) EndBecause(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kicked == nil {
		s.kicked = reason
	}
}

// EndAtKey ends a viewer before the next key frame of its stream, for the given reason. It
// reports false for a session that cannot end so.
func (s *Client) EndAtKey(reason error) bool {
	s.mu.Lock()
	end := s.atKey
	s.mu.Unlock()
	if end == nil {
		return false
	}
	s.EndBecause(reason)
	end()
	return true
}

// End removes the session from the register and logs why it ended, once. A reason
// from Stop overrides the argument; End returns the final reason.
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
	c.there[s.Role]--
	c.past[kind] = c.past[kind].plus(f)
	c.ended[Outcome{s.Role, Code(reason)}]++
	c.mu.Unlock()
	attributes := []any{"id", s.ID, "stream", s.Stream, "protocol", s.Protocol, "address", s.Address, "agent", s.Agent,
		"reason", Words(reason), "bytes", f.Bytes, "frames", f.Frames, "duration", time.Since(s.Since).Round(time.Millisecond)}
	if s.Role == RoleViewer {
		attributes = append(attributes, "jumps", f.Jumps, "dropped", f.Dropped)
	}
	c.log.Info(string(s.Role)+" ended", attributes...)
	if c.observer != nil {
		c.observer.Ended(s, f, reason)
	}
	return reason
}

// Number returns the number of active sessions of a role.
func (c *Register) Number(r Role) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.there[r]
}

// Get returns the session of that id; the name may be left out.
func (c *Register) Get(id string) (*Client, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.byID[id]
	if !ok {
		s, ok = c.byID[id+c.at]
	}
	return s, ok
}

// List returns the active sessions, publishers before viewers, the oldest first.
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

// AppendRole appends the active sessions of a role to list, in no order.
func (c *Register) AppendRole(list []*Client, r Role) []*Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.byID {
		if s.Role == r {
			list = append(list, s)
		}
	}
	return list
}

// viewerStats returns a function that reads a viewer's figures.
func viewerStats(v *live.Viewer) func() Figures {
	return func() Figures {
		f := v.Stats()
		return Figures{Bytes: f.Bytes, Frames: f.Frames, Lag: f.Lag, Jumps: f.Jumps, Dropped: f.Dropped, Merge: f.Merge}
	}
}

// shortAgent truncates an agent to whole characters within maxAgent bytes.
func shortAgent(agent string) string {
	if len(agent) > maxAgent {
		agent = agent[:maxAgent]
	}
	return strings.ToValidUTF8(agent, "")
}
