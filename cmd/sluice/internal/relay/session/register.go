package session

import (
	"cmp"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/live"
)

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
	left   []string // tracks that are left out, and why
	said   said

	pictures pictures // a publisher's
}

// said is what was said of a session in the log and to the observer.
type said struct {
	mu         sync.Mutex // held while it is said, so that the end comes behind the beginning
	began, end bool
}

// A Mover is a session that can be given to another process: an Inlet, and for a viewer
// the live.Writer's part.
type Mover struct {
	Inlet  Inlet // nil: nothing is read
	Viewer *live.Viewer
	Conn   syscall.Conn
	Client *Client
}

// An Observer is called when sessions begin and when they have ended: once for
// each, in that order. It must not wait.
type Observer interface {
	Began(s *Client)
	Ended(s *Client, f Figures, reason error)
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

// Observe sets the observer, before the first session.
func (c *Register) Observe(o Observer) { c.observer = o }

// Name makes ids those of one server of several: v1@name. Call it before the first session.
func (c *Register) Name(name string) { c.at = "@" + name }

// Begin adds a session and logs that. The caller must call End.
func (c *Register) Begin(r Role, info Info) *Client {
	s := c.Enter(r, info)
	s.Starts()
	return s
}

// Enter is Begin of a session that may come to nothing: of it neither the log nor the observer learns before
// Starts.
func (c *Register) Enter(r Role, info Info) *Client {
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
	return s
}

// Starts says that the session has begun, once, unless it has ended.
func (s *Client) Starts() {
	s.said.mu.Lock()
	defer s.said.mu.Unlock()
	if s.said.began || s.said.end {
		return
	}
	s.said.began = true
	s.books.log.Info(string(s.Role)+" started", "id", s.ID, "stream", s.Stream, "protocol", s.Protocol, "address", s.Address, "agent", s.Agent)
	if s.books.observer != nil {
		s.books.observer.Began(s)
	}
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

// Of returns the active sessions of a stream, in no order.
func (c *Register) Of(stream string) []*Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*Client
	for _, s := range c.byID {
		if s.Stream == stream {
			list = append(list, s)
		}
	}
	return list
}

// shortAgent truncates an agent to whole characters within maxAgent bytes.
func shortAgent(agent string) string {
	if len(agent) > maxAgent {
		agent = agent[:maxAgent]
	}
	return strings.ToValidUTF8(agent, "")
}
