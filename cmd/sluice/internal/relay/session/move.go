package session

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// State returns the state of a session that stands still. It reports false when it cannot be
// given away after all.
func (m *Mover) State(h *Host) (st *Moved, ok bool, err error) {
	c := m.Client
	f := c.Figures()
	st = &Moved{
		ID: c.ID, Role: c.Role, Since: c.Since, Stream: c.Stream, Protocol: c.Protocol, Address: c.Address, Agent: c.Agent, Token: c.Token,
		Bytes: f.Bytes, Frames: f.Frames,
	}
	if m.Inlet != nil { // first: what it answers goes by way of the viewer
		if err := m.Inlet.State(st); err != nil {
			return nil, false, err
		}
	}
	if c.Role == RolePublisher {
		st.Owner, st.Pictures = h.owners.of(c.Stream), c.pictures.wait()
		return st, true, nil
	}
	v, ok := m.Viewer.State()
	st.Viewer = &v
	return st, ok, nil
}

// Leave takes the session off the register without an end: it goes on elsewhere. When it was
// to end meanwhile, its connection is shut down for the other process too; not because this
// one shuts down.
func (m *Mover) Leave(w *live.Writer) {
	if reason := m.Client.leave(); reason != nil && !errors.Is(reason, ErrClosing) {
		shutDown(m.Conn)
		m.Client.books.log.Info("session was to end during the handover: its connection is closed", "id", m.Client.ID, "reason", Words(reason))
	}
	if m.Viewer != nil {
		w.Leave(m.Viewer)
	}
	if m.Inlet != nil {
		m.Inlet.Leave()
	}
}

// Forget takes a session off the register that was resumed and does not go on here after
// all, and a viewer out of the writer, which is frozen.
func (s *Client) Forget(w *live.Writer) {
	s.mu.Lock()
	m := s.mover
	s.mu.Unlock()
	s.leave()
	if m != nil && m.Viewer != nil {
		w.Leave(m.Viewer)
	}
}

// leave returns why the session was to end, nil if it was not.
func (s *Client) leave() (reason error) {
	s.mu.Lock()
	s.over = true
	reason = s.kicked
	s.mu.Unlock()
	s.books.mu.Lock()
	defer s.books.mu.Unlock()
	delete(s.books.byID, s.ID)
	s.books.there[s.Role]--
	return reason
}

// resume adds a session of another process, under its id.
func (c *Register) resume(m *Moved) *Client {
	s := &Client{
		Info:  Info{Stream: m.Stream, Protocol: m.Protocol, Address: m.Address, Agent: m.Agent, Token: m.Token},
		books: c, ID: m.ID, Role: m.Role, Since: m.Since,
		pictures: awaiting(m.Pictures),
	}
	s.bytes.Store(m.Bytes)
	s.Frames.Store(m.Frames)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, err := strconv.ParseUint(strings.TrimLeft(m.ID, "pv"), 10, 64); err == nil {
		c.last[m.Role] = max(c.last[m.Role], n)
	}
	c.there[m.Role]++
	c.began[Kind{m.Role, m.Protocol}]++
	c.byID[s.ID] = s
	return s
}

// ResumePublisher registers a publisher of another process, whose stream was adopted.
// begin, called when it goes on, starts what works for streams.
func (h *Host) ResumePublisher(m *Moved, p *live.Publisher) (c *Client, x *Claim, begin func()) {
	info := Info{Stream: m.Stream, Protocol: m.Protocol, Address: m.Address}
	x = &Claim{host: h, info: info, release: h.Gate.Resume(info.Request(RolePublisher.Action()))}
	x.remove = func() { h.owners.drop(m.Stream, p) }
	x.p.Store(p)
	if len(m.Owner) == len(identity{}) {
		h.owners.mu.Lock()
		h.owners.add(m.Stream, p, identity(m.Owner), true)
		h.owners.mu.Unlock()
	}
	c = h.Register.resume(m)
	return c, x, func() { h.begin(p.Stream()) }
}

// ResumeViewer goes on with a viewer of another process. how says what its protocol is
// served with. The writer is frozen, so that nothing happens yet.
func (h *Host) ResumeViewer(conn net.Conn, st *live.Stream, m *Moved, how Viewing) (*live.Viewer, error) {
	info := Info{Stream: m.Stream, Protocol: m.Protocol, Address: m.Address}
	release := h.Gate.Resume(info.Request(RoleViewer.Action()))
	c, done := h.Register.resume(m), how.Done
	h.Group.Hold()
	v, err := h.Writer.Adopt(conn, st, live.ViewerOptions{
		Name: c.ID, Trailer: how.Trailer, Unread: how.Unread, OnReadable: how.Readable,
		OnClose: h.closed(c, func() {
			release()
			if done != nil {
				done()
			}
		}, how.Why, nil),
	}, *m.Viewer)
	if err != nil {
		h.Group.Release()
		c.leave()
		release()
		return nil, err
	}
	c.views(v, nil)
	c.movesViewer(conn, v, how.Inlet)
	return v, nil
}

// Prefilled returns a reader of conn that gives rest first.
func Prefilled(conn net.Conn, rest []byte, a *mem.Allocator) *sluice.BufReader {
	b := bufio.NewReaderSize(bytes.NewReader(rest), max(len(rest), 16))
	_, _ = b.Peek(len(rest)) // all of it is there
	return sluice.NewBufReaderFrom(bufio.NewReadWriter(b, nil), conn, sluice.Options{Allocator: a})
}
