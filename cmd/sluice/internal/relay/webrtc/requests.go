package webrtc

import "github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"

// ETag returns the state of a session's connection, which never changes: there are no
// restarts of ICE. protocol and stream are those of the request's address, and token is
// the one that came with it. An error matches ErrNoSession.
func (s *Server) ETag(protocol, stream, id, token string) (string, error) {
	p, err := s.peers.find(protocol, stream, id, token)
	if err != nil {
		return "", err
	}
	return p.etag, nil
}

// End ends a session because its client said so. The arguments and the error are as of
// ETag.
func (s *Server) End(protocol, stream, id, token string) error {
	p, err := s.peers.find(protocol, stream, id, token)
	if err != nil {
		return err
	}
	if protocol == session.WHIP {
		p.end(session.ErrEndOfBody)
	} else {
		p.end(session.ErrDone)
	}
	return nil
}

// Figures are how many there are at the moment.
type Figures struct {
	Sessions  int   // that have an answer
	Pending   int   // of those, without media yet
	Strangers int64 // packets in all that were of no session
}

// Figures returns the figures at this moment.
func (s *Server) Figures() Figures {
	return Figures{Sessions: s.peers.number(), Pending: s.pending.number(), Strangers: s.ports.strangers.Load()}
}
