package session

import (
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/live"
)

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

// views says that the session is v's. received may be nil.
func (s *Client) views(v *live.Viewer, received Received) {
	s.mu.Lock()
	s.atKey = v.EndAtKey
	s.mu.Unlock()
	s.Attach(viewerStats(v, received), v.Close)
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

// LeaveOut says what tracks of a publisher are left out, and why; the list is transferred.
func (s *Client) LeaveOut(tracks []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = tracks
}

// maxLeftOut bounds the tracks that AlsoLeaveOut adds up to.
const maxLeftOut = 16

// AlsoLeaveOut says of one more track what it is and why it is left out.
func (s *Client) AlsoLeaveOut(track string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.left) < maxLeftOut {
		s.left = append(slices.Clone(s.left), track)
	}
}

// LeftOut returns the tracks of LeaveOut and AlsoLeaveOut, not to be changed.
func (s *Client) LeftOut() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
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
		if f.Reported {
			attributes = append(attributes, "lost", f.Lost)
		}
	}
	s.said.mu.Lock()
	defer s.said.mu.Unlock()
	s.said.end = true
	if !s.said.began {
		c.log.Debug(string(s.Role)+" came to nothing", attributes...)
		return reason
	}
	c.log.Info(string(s.Role)+" ended", attributes...)
	if c.observer != nil {
		c.observer.Ended(s, f, reason)
	}
	return reason
}

// OnLine says by which connection a publisher's media comes, for Line, and how to make
// it answer something; probe may be nil, and must not wait long. conn is borrowed until
// End.
func (s *Client) OnLine(conn net.Conn, probe func()) *MediaLine {
	l := &MediaLine{conn: conn, probe: probe}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = l
	return l
}

// Line returns what the kernel knows of the connection that OnLine has named. It makes
// a system call.
func (s *Client) Line() Line {
	s.mu.Lock()
	on, over := s.line, s.over
	s.mu.Unlock()
	if on == nil || over {
		return Line{}
	}
	l := lineOf(on.conn)
	if whole := on.whole.Load(); whole > 0 {
		l.Partial, l.Parts = l.Received-whole, true
	}
	return l
}

// Probe makes the peer send something back, where that can be.
func (s *Client) Probe() {
	s.mu.Lock()
	on, over := s.line, s.over
	s.mu.Unlock()
	if on != nil && on.probe != nil && !over {
		on.probe()
	}
}

// moves says that the session can be given away.
func (s *Client) moves(m *Mover) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.Client, s.mover = s, m
}

// MovesBy says that the session of a publisher can be given away.
func (s *Client) MovesBy(i Inlet, conn syscall.Conn) { s.moves(&Mover{Inlet: i, Conn: conn}) }

// Mover returns how the session can be given away, or nil when it cannot.
func (s *Client) Mover() *Mover {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.kicked != nil {
		return nil
	}
	return s.mover
}
