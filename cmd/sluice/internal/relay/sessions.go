package relay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/live"
)

// The ways in which people publish and watch.
const (
	protocolRTMP  = "rtmp"
	protocolRTMPS = "rtmps"
	protocolFLV   = "flv"
	protocolFLVS  = "flvs"
	protocolWS    = "ws"
	protocolWSS   = "wss"
)

// Why somebody may not publish or watch, beside what the gate says. Each
// session says it in the words of its protocol: see refusal.
var (
	errBadRequest = errors.New("bad request") // a name or an option that is none
	errNotFound   = errors.New("there is no such stream")
	errBusy       = errors.New("somebody publishes this stream")
	errClosing    = errors.New("the server is shutting down")
	errOrigin     = errors.New("pages of this origin may not use this server")
	errLength     = errors.New("FLV is sent chunked or with a length")
	errCoding     = errors.New("a compressed body is not understood")
)

// Why a session that had begun has ended.
var (
	errKicked    = errors.New("kicked")
	errPeerGone  = errors.New("the peer closed the connection")
	errEndOfBody = errors.New("the publisher said that it was done")
	errIdle      = errors.New("nothing came in time")
	errTooSlow   = errors.New("slower than the minimum rate")
)

// A sessionInfo says who wants to publish or to watch what.
type sessionInfo struct {
	Stream   string     // APP/NAME as streamName made it
	Protocol string     // one of the constants
	Address  string     // of the peer, host:port
	Agent    string     // what the peer says that it is; cut when it is long
	Query    url.Values // of the address or of the stream name
	Via      edge.Path  // the servers that the request has come through
}

// request is what the gate is asked.
func (i sessionInfo) request(a access.Action) access.Request {
	// An address that is none leaves the zero one, which is in no allow list.
	address, _ := netip.ParseAddrPort(i.Address)
	return access.Request{Action: a, Stream: i.Stream, Address: address, Protocol: i.Protocol, Agent: i.Agent, Query: i.Query}
}

// puller brings streams from elsewhere for as long as somebody watches them.
type puller interface {
	// Want counts a viewer of info.Stream, starts to pull it when that is the
	// first and nobody publishes it here, and returns when there is a stream
	// or none comes within the time that the viewer waits, which is
	// errNotFound. After an error nothing is counted.
	Want(ctx context.Context, info sessionInfo) error
	// Release ends what Want counted.
	Release(stream string)
	// Close ends all pulls and waits for them, until ctx is done.
	Close(ctx context.Context) error
}

// recorder writes what is published to files.
type recorder interface {
	// Begin is called when somebody begins to publish, also when the same
	// stream is already being recorded.
	Begin(st *live.Stream)
	// Close finishes all files, until ctx is done.
	Close(ctx context.Context) error
}

// publish makes a publisher of the stream, without asking anybody: for
// sessions that have been admitted, and for what is pulled.
func (s *Server) publish(stream, from string, takeOver bool) (*live.Publisher, error) {
	p, err := s.hub.Publish(stream, live.PublishOptions{Name: from, TakeOver: takeOver})
	switch {
	case errors.Is(err, live.ErrBusy):
		return nil, fmt.Errorf("%w: %s", errBusy, stream)
	case errors.Is(err, live.ErrClosed):
		return nil, errClosing
	case err != nil:
		return nil, err
	}
	if s.recorder != nil {
		s.recorder.Begin(p.Stream())
	}
	return p, nil
}

// admitPublish asks the gate, and makes a publisher of the stream. done, which
// is called after the Publisher was closed, gives back what the gate counted.
func (s *Server) admitPublish(ctx context.Context, info sessionInfo) (p *live.Publisher, done func(), err error) {
	if s.closing() {
		return nil, nil, errClosing
	}
	release, err := s.gate.Admit(ctx, info.request(access.Publish))
	if err != nil {
		return nil, nil, err
	}
	p, err = s.publish(info.Stream, info.Address, s.config().Takeover == config.TakeoverReplace)
	if err != nil {
		release()
		return nil, nil, err
	}
	return p, release, nil
}

// admitPlay asks the gate, waits for the stream as long as the options say, and
// returns it. done, which is called once, when the viewer is gone, gives back
// what was counted.
func (s *Server) admitPlay(ctx context.Context, info sessionInfo, o playOptions) (st *live.Stream, done func(), err error) {
	if s.closing() {
		return nil, nil, errClosing
	}
	done, err = s.gate.Admit(ctx, info.request(access.Play))
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(s.ctx, cancel)
	defer stop()
	if s.puller != nil {
		pulling, cancel := context.WithTimeout(ctx, max(o.Wait, s.times.pull))
		err = s.puller.Want(pulling, info)
		cancel()
		if err == nil {
			name, release := info.Stream, done
			done = func() {
				s.puller.Release(name)
				release()
			}
		}
	}
	if err == nil {
		if st, err = s.find(ctx, info.Stream, o.Wait); err == nil {
			return st, done, nil
		}
	}
	done()
	if s.closing() {
		err = errClosing
	}
	return nil, nil, err
}

// find returns a stream that there is within the given time.
func (s *Server) find(ctx context.Context, name string, within time.Duration) (*live.Stream, error) {
	if st, ok := s.hub.Stream(name); ok {
		return st, nil
	}
	if within > 0 {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		if st, err := s.hub.Wait(ctx, name); err == nil {
			return st, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", errNotFound, name)
}

// refusal is what the peer is told of an error of admitPublish, admitPlay,
// streamName and parsePlayOptions: an HTTP status and one line.
func refusal(err error) (status int, reason string) {
	for _, c := range []struct {
		err    error
		status int
	}{
		{errBadRequest, http.StatusBadRequest},
		{errNotFound, http.StatusNotFound},
		{errBusy, http.StatusConflict},
		{errClosing, http.StatusServiceUnavailable},
		{errOrigin, http.StatusForbidden},
		{errLength, http.StatusLengthRequired},
		{errCoding, http.StatusUnsupportedMediaType},
	} {
		if errors.Is(err, c.err) {
			return c.status, err.Error()
		}
	}
	return access.Status(err), access.Reason(err)
}

// refused logs that somebody may not publish or watch.
func (s *Server) refused(r role, info sessionInfo, err error) {
	s.log.Info(string(r)+" refused", "stream", info.Stream, "protocol", info.Protocol, "address", info.Address, "agent", shortAgent(info.Agent), "reason", err)
}

// A viewing is how a viewer is sent what it watches.
type viewing struct {
	Form    live.Form
	Prelude []byte // sent first of all
	Trailer []byte // sent when the stream is over
	Done    func() // called once, when it has ended; as admitPlay returned it
}

// watch hands conn, transferred also when it fails, to the writer of streams,
// which from then on alone writes to it and closes it. It keeps the books about
// the viewer, and calls how.Done when it has ended.
func (s *Server) watch(conn net.Conn, st *live.Stream, info sessionInfo, o playOptions, how viewing) (*live.Viewer, error) {
	v, err := s.tryWatch(conn, st, info, o, how)
	if err != nil {
		conn.Close()
	}
	return v, err
}

// tryWatch is watch that leaves conn to the caller when it fails.
func (s *Server) tryWatch(conn net.Conn, st *live.Stream, info sessionInfo, o playOptions, how viewing) (*live.Viewer, error) {
	c := s.clients.begin(roleViewer, info)
	s.sessions.hold() // until the last has been said about the viewer
	if o.Merge < 0 {
		o.Merge = s.config().Merge
	}
	v, err := s.writer.Add(conn, st, live.ViewerOptions{
		Name:  c.id,
		Form:  how.Form,
		Merge: o.Merge,
		NoGOP: o.NoGOP || !s.config().GOP,
		// Whoever waited for the stream gets all of it.
		FromStart: !o.asked.IsZero() && st.Since().After(o.asked),
		Prelude:   how.Prelude,
		Trailer:   how.Trailer,
		OnClose: func(v *live.Viewer, err error) {
			defer s.sessions.release()
			c.attach(viewerStats(v), nil)
			c.end(err)
			how.Done()
		},
	})
	if err != nil {
		defer s.sessions.release()
		if errors.Is(err, live.ErrClosed) {
			err = fmt.Errorf("%w: %s has just ended", errNotFound, info.Stream)
		}
		c.end(err)
		how.Done()
		return nil, err
	}
	c.attach(viewerStats(v), v.Close)
	return v, nil
}

// limits of what a session may say about itself.
const (
	maxName  = 200 // bytes of a stream's name
	maxAgent = 120 // bytes of an agent that are kept
	maxWait  = 60 * time.Second
)
