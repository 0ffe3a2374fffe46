package srtserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/srtconn"
	"github.com/sluice-go/sluice/live"
)

// play admits a request as a viewer and serves its connection until that ends.
func (s *Server) play(req srt.ConnRequest, info session.Info) {
	o, err := session.ParsePlayOptions(info.Query)
	if err != nil {
		s.refuse(req, session.RoleViewer, info, err)
		return
	}
	if s.guard.full.Load() {
		s.refuse(req, session.RoleViewer, info, s.guard.errFull())
		return
	}
	ctx, cancel := s.admission()
	source, done, err := s.AdmitPlay(ctx, info, o)
	cancel()
	if err != nil {
		s.refuse(req, session.RoleViewer, info, err)
		return
	}
	conn, err := req.Accept()
	if err != nil {
		done()
		s.Refused(session.RoleViewer, info, err)
		return
	}
	guarded := s.guard.add(req, conn, session.RoleViewer)
	defer s.guard.remove(guarded)
	feed, missing, err := s.feed(source, o.Wait)
	if len(missing) > 0 {
		s.Log.Info("codecs without a form in SRT's transport stream are left out", "stream", info.Stream, "address", info.Address, "codecs", fmt.Sprint(missing))
	}
	if others := au.Others(source); len(others) > 0 {
		s.Log.Info("SRT carries the first track of each kind", "stream", info.Stream, "address", info.Address, "left_out", fmt.Sprint(others))
	}
	if err != nil {
		done()
		conn.Close()
		if !errors.Is(err, session.ErrFull) {
			err = fmt.Errorf("%w: %s: %w", session.ErrNotFound, info.Stream, err)
		}
		s.Refused(session.RoleViewer, info, err)
		return
	}
	p := srtconn.NewPaced(guarded)
	v, err := s.Watch(p, feed.Stream(), info, o, session.Viewing{Form: live.FormRaw, Why: feed.Err, Done: func() {
		feed.Release()
		done()
	}})
	if err != nil {
		return
	}
	// A viewer sends nothing: this waits for its end.
	var room [1500]byte
	for {
		if _, err := conn.Read(room[:]); err != nil {
			break
		}
	}
	v.Close(guarded.why(session.ErrPeerGone)) // nothing, when it has ended already
	<-v.Done()
}

// feed finds out a stream's tracks, for whose first frame it waits, and returns its packets. A peer
// that leaves meanwhile is noticed when that is over.
func (s *Server) feed(source *live.Stream, wait time.Duration) (*transport, []fmt.Stringer, error) {
	ctx, cancel := context.WithCancel(s.Ctx)
	defer cancel()
	return s.feeds.open(ctx, source, wait)
}
