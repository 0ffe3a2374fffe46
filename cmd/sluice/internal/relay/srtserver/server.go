package srtserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// A Server is the SRT side of a server.
type Server struct {
	*session.Host
	Arrivals listen.Arrivals // requests that were not answered yet
	feeds    feeds
	guard    guard

	mu       sync.Mutex
	listener srt.Listener // nil: none
	closed   bool
	over     chan struct{}  // closed with it
	running  sync.WaitGroup // nothing is added to it when there is nothing in it and closed is set
	faults   atomic.Int64   // handshakes that the library could not bear
}

// New makes a Server. packets are the options of the streams of packets, of which the
// memory for all is bounded too; the library's own for all connections has the same bound.
func New(host *session.Host, packets live.HubOptions) *Server {
	s := &Server{Host: host, over: make(chan struct{})}
	s.guard.most = packets.Memory
	s.feeds = newFeeds(packets, func() error { return host.Room() }, host.Alloc, host.Log)
	return s
}

// Hub returns the streams of packets.
func (s *Server) Hub() *live.Hub { return s.feeds.Hub() }

// idle is how long a peer may send nothing at all: each sends at least once a second.
const idle = 5 * time.Second

// Listen opens a listener at an address. It counts as a net.Listener that accepts
// nothing: closing it ends Serve, and the connections go on until the Server is closed.
func (s *Server) Listen(address string) (net.Listener, error) {
	c := srt.DefaultConfig()
	c.ReceiverLatency, c.PeerLatency = s.Config().SRTLatency, s.Config().SRTLatency
	c.PeerIdleTimeout = idle
	c.Logger = &s.guard
	at, err := net.ResolveUDPAddr("udp", address) // the library takes no names
	if err != nil {
		return nil, err
	}
	if at.IP.IsUnspecified() && at.IP.To4() == nil {
		at.IP = nil // else it would take IPv6 alone, and not both as the other listeners at [::] do
	}
	l, err := srt.Listen("srt", at.String(), c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.listener = l
	s.mu.Unlock()
	return &entrance{addr: l.Addr(), closed: make(chan struct{})}, nil
}

// entrance stands for the listener where others are net.Listeners.
type entrance struct {
	addr   net.Addr
	once   sync.Once
	closed chan struct{}
}

func (e *entrance) Accept() (net.Conn, error) {
	<-e.closed
	return nil, net.ErrClosed
}

func (e *entrance) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}

func (e *entrance) Addr() net.Addr { return e.addr }

// Serve answers requests until l, which Listen returned, is closed.
func (s *Server) Serve(l net.Listener) error {
	failed := make(chan error, 1)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.running.Go(func() { failed <- s.answerAll() })
	s.running.Go(func() { s.guard.run(s.Times.Step, s.over) })
	s.mu.Unlock()
	accepting := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		accepting <- err
	}()
	select {
	case err := <-failed:
		l.Close()
		<-accepting
		return err
	case <-accepting:
		return nil
	}
}

// answerAll answers requests until there can be no more.
func (s *Server) answerAll() error {
	for {
		req, err := s.accept()
		if err != nil {
			return err
		}
		if req != nil {
			s.running.Go(func() { s.answer(req) })
		}
	}
}

// accept returns the next request. A handshake that the library cannot bear is passed
// over: nil.
func (s *Server) accept() (req srt.ConnRequest, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			s.faults.Add(1)
			s.Log.Debug("a malformed SRT handshake", "fault", fault)
			req, err = nil, nil
		}
	}()
	return s.listener.Accept2()
}

// Close ends the listener, all its connections, and all streams of packets.
func (s *Server) Close() {
	s.mu.Lock()
	l := s.listener
	if !s.closed {
		s.closed = true
		close(s.over)
	}
	s.mu.Unlock()
	if l != nil {
		l.Close()
	}
	s.feeds.Close()
	s.running.Wait()
}

// refusals are the answers to callers: the codes of SRT's access control guidelines.
func refusal(err error) srt.RejectionReason {
	switch status, _ := session.Refusal(err); status {
	case 400:
		return srt.REJX_BAD_REQUEST
	case 401:
		return srt.REJX_UNAUTHORIZED
	case 403:
		return srt.REJX_FORBIDDEN
	case 404:
		return srt.REJX_NOTFOUND
	case 409:
		return srt.REJX_CONFLICT
	case 429:
		return srt.REJX_OVERLOAD
	case 503:
		return srt.REJX_DOWN
	}
	return srt.REJX_ISE
}

// answer answers a request and serves its connection.
func (s *Server) answer(req srt.ConnRequest) {
	from, _ := netip.ParseAddrPort(req.RemoteAddr().String())
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	info := session.Info{Protocol: session.SRT, Address: from.String(), Agent: "srt"}
	r, err := parseStreamID(req.StreamId())
	info.Stream, info.Query = r.stream, r.query
	if bad := inspect(req); bad != nil {
		if err == nil { // it means to be a session
			s.Refused(r.role, info, bad)
		} else {
			s.Log.Debug("SRT request refused", "address", from, "reason", bad)
		}
		req.Reject(srt.REJ_ROGUE)
		return
	}
	place, full := s.Arrivals.Enter(s.Ctx, from.Addr(), func(error) {})
	if full != nil {
		s.Log.Debug("connection turned away", "listener", session.SRT, "address", from, "error", full)
		req.Reject(srt.REJX_OVERLOAD)
		return
	}
	defer place.Leave()
	if err == nil {
		err = s.decrypt(req)
	}
	if err != nil {
		s.refuse(req, r.role, info, err)
		return
	}
	place.Leave()
	if r.role == session.RolePublisher {
		s.publish(req, info)
	} else {
		s.play(req, info)
	}
}

var (
	errUnencrypted = errors.New("the connection is not encrypted, and has to be: a passphrase is set")
	errEncrypted   = errors.New("the connection is encrypted, and no passphrase is set here")
	errPassphrase  = errors.New("wrong passphrase")
)

// decrypt checks the passphrase of a request.
func (s *Server) decrypt(req srt.ConnRequest) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: %v", errPassphrase, fault)
		}
	}()
	passphrase := s.Config().SRTPassphrase
	switch {
	case passphrase == "" && req.IsEncrypted():
		return errEncrypted
	case passphrase == "":
		return nil
	case !req.IsEncrypted():
		return errUnencrypted
	case req.SetPassphrase(passphrase) != nil:
		return errPassphrase
	}
	return nil
}

func (s *Server) refuse(req srt.ConnRequest, role session.Role, info session.Info, err error) {
	s.Refused(role, info, err)
	switch {
	case errors.Is(err, errUnencrypted), errors.Is(err, errEncrypted):
		req.Reject(srt.REJ_UNSECURE)
	case errors.Is(err, errPassphrase):
		req.Reject(srt.REJ_BADSECRET)
	default:
		req.Reject(refusal(err))
	}
}

// handshakeTime is how long admission may take: callers give up after 3 s.
const handshakeTime = 2500 * time.Millisecond

func (s *Server) admission() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.Ctx, handshakeTime)
}
