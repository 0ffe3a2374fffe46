package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// carried are the kinds of state that this version can take over. A change of one that an
// earlier version would misread gets another number.
var carried = []string{"stream/1", "rtmp-publisher/1", "rtmp-viewer/1", "flv-viewer/1", "ws-viewer/1", bansKind, pushesKind, recordingsKind}

// errNotMovable: what the server does cannot be given to another process.
var errNotMovable = errors.New("cannot be handed over; restart the server instead")

// carries returns an error when a process that can take over the given kinds could not
// take over what this one, with these orders, may have.
func carries(kinds []string, o handedOrders) error {
	ordered := o.some()
	for _, kind := range carried {
		if some, optional := ordered[kind]; optional && !some {
			continue
		}
		if !slices.Contains(kinds, kind) {
			return fmt.Errorf("%s: the other version %w", kind, errNotMovable)
		}
	}
	return nil
}

// stillTime is how long sessions may take to stand still.
const stillTime = time.Second

// cargo is what is handed over. It stands still until unpack or leave.
type cargo struct {
	host    *session.Host
	orders  handedOrders
	streams []*live.Stream   // whose viewers go too
	paused  []*session.Mover // whose inlets stand still
	movers  []*session.Mover // that can be given away
	thaw    func()           // nil: the writer runs
	err     error            // why it cannot be sent

	publishing, watching int            // so many were sent
	joinable             []*live.Stream // that were sent with a key frame
}

// pack makes everything that can be given away stand still: first the publishers, then
// what viewers send, then what they are sent.
func pack(h *session.Host, o handedOrders) *cargo {
	p := &cargo{host: h, orders: o}
	ctx, cancel := context.WithTimeout(h.Ctx, stillTime)
	defer cancel()
	for _, st := range h.Hub.Streams() {
		st.Hurry(true)
	}
	all := h.Register.List()
	published := map[string]bool{}
	for _, m := range p.still(ctx, all, func(c *session.Client) bool { return c.Role == session.RolePublisher }) {
		published[m.Client.Stream] = true
	}
	carried := map[string]bool{}
	for _, st := range h.Hub.Streams() {
		// A stream without a publisher waits for it to come back.
		if published[st.Name()] || st.Publisher() == nil {
			p.streams = append(p.streams, st)
			carried[st.Name()] = true
		}
	}
	p.still(ctx, all, func(c *session.Client) bool { return c.Role == session.RoleViewer && carried[c.Stream] })
	p.thaw = h.Writer.Freeze()
	return p
}

// still makes the sessions that match stand still, and returns those that do.
func (p *cargo) still(ctx context.Context, all []*session.Client, matches func(*session.Client) bool) (list []*session.Mover) {
	for _, c := range all {
		m := c.Mover()
		if m == nil || !matches(c) {
			continue
		}
		if m.Inlet != nil {
			m.Inlet.Pause()
			p.paused = append(p.paused, m)
		}
		list = append(list, m)
	}
	list = slices.DeleteFunc(list, func(m *session.Mover) bool {
		if m.Inlet == nil {
			return false
		}
		err := m.Inlet.Await(ctx)
		if err != nil && !errors.Is(err, session.ErrMoved) {
			p.host.Log.Debug("a session cannot be handed over", "id", m.Client.ID, "reason", err)
			if m.Client.Role == session.RolePublisher || errors.Is(err, session.ErrNotStill) {
				p.err = err
			}
		}
		return err != nil
	})
	p.movers = append(p.movers, list...)
	return list
}

// send sends the cargo to a process that can take over these kinds.
func (p *cargo) send(c *handover.Conn, kinds []string) error {
	if p.err != nil {
		return p.err
	}
	var whole handover.Whole
	sent := map[string]bool{}
	for _, st := range p.streams {
		state, tags, ok := st.State()
		if !ok {
			continue
		}
		if err := c.Send(handover.KindStream, state, tags, nil); err != nil {
			return err
		}
		sent[st.Name()] = true
		if state.HasKey() {
			p.joinable = append(p.joinable, st)
		}
		whole.Streams++
	}
	gone := p.movers[:0]
	for _, m := range p.movers {
		if !sent[m.Client.Stream] {
			continue // its stream has just ended
		}
		state, ok, err := m.State(p.host)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := c.Send(handover.KindSession, state, nil, m.Conn); err != nil {
			return err
		}
		gone = append(gone, m)
		whole.Sessions++
		if m.Client.Role == session.RolePublisher {
			p.publishing++
		} else {
			p.watching++
		}
	}
	p.movers = gone
	if err := carries(kinds, p.orders); err != nil {
		return err // something was ordered meanwhile
	}
	if err := p.orders.send(c, kinds); err != nil {
		return err
	}
	return c.Send(handover.KindWhole, whole, nil, nil)
}

// unpack lets everything go on.
func (p *cargo) unpack() {
	if p.thaw != nil {
		p.thaw()
	}
	for _, m := range p.paused {
		m.Inlet.Resume()
	}
	for _, st := range p.host.Hub.Streams() {
		st.Hurry(false)
	}
}

// divide has recordings end at the newest key frames, where the other process goes on. It comes
// before anything that ends their streams.
func (p *cargo) divide() { p.orders.to.recorders.leave(p.joinable) }

// leave lets go of what was sent: it is another process's. The rest goes on until the
// server ends.
func (p *cargo) leave() {
	left := map[*session.Mover]bool{}
	for _, m := range p.movers {
		left[m] = true
		m.Leave(p.host.Writer)
	}
	p.paused = slices.DeleteFunc(p.paused, func(m *session.Mover) bool { return left[m] })
	p.unpack()
}

func (p *cargo) publishers() int { return p.publishing }
func (p *cargo) viewers() int    { return p.watching }
