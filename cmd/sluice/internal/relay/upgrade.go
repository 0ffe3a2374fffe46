package relay

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// ErrUpgrading: another process is taking over already, or has.
var ErrUpgrading = errors.New("an upgrade goes on already")

// settleTime is for how long connections that have not made their request yet may do so
// before the handover: what has not become a session cannot be given away.
const settleTime = 250 * time.Millisecond

// HandOver gives everything that can be to the process at the other end of c, transferred,
// and makes Serve end when it has been taken. With an error this server goes on as if
// nothing had been.
func (s *Server) HandOver(c *handover.Conn) (err error) {
	defer c.Close()
	if !s.upgrades.one.TryLock() {
		c.Refuse(ErrUpgrading.Error())
		return ErrUpgrading
	}
	defer s.upgrades.one.Unlock()
	if s.handedOver() || !s.upgrades.begin(c) {
		c.Refuse(ErrUpgrading.Error())
		return ErrUpgrading
	}
	defer s.upgrades.end()
	hello, err := s.introduce(c)
	if err != nil {
		s.log.Warn("no upgrade", "error", err)
		return err
	}
	log := s.log.With("pid", hello.PID, "to", hello.Version)
	log.Info("upgrade begins")
	c.Within(s.upgrades.start)
	if _, err = c.Expect(handover.KindReady, nil); err == nil {
		s.endStaying()
		err = s.give(c, hello.Kinds)
	} else {
		err = fmt.Errorf("the new process does not become ready: %w", err)
	}
	if err != nil {
		log.Warn("upgrade failed, this server goes on", "error", err)
		return err
	}
	return nil
}

func (s *Server) handedOver() bool {
	select {
	case <-s.upgrades.done:
		return true
	default:
		return false
	}
}

// introduce answers a process that says that it wants to take over, and gives it the
// listeners.
func (s *Server) introduce(c *handover.Conn) (hello handover.Hello, err error) {
	defer func() {
		if err != nil {
			c.Refuse(err.Error())
		}
	}()
	c.Within(handover.HelloTime)
	if _, err = c.Expect(handover.KindHello, &hello); err != nil {
		return hello, fmt.Errorf("the new process says nothing: %w", err)
	}
	if hello.Format != handover.Format {
		return hello, fmt.Errorf("%w: format %d, this server has %d", handover.ErrProtocol, hello.Format, handover.Format)
	}
	if err = s.mayHandOver(hello.Kinds); err != nil {
		return hello, err
	}
	n := 0
	for _, l := range s.listeners {
		if l.pausing != nil {
			n++
		}
	}
	if err = c.Send(handover.KindWelcome, handover.Welcome{Format: handover.Format, Version: s.version, PID: os.Getpid(), Listeners: n}, nil, nil); err != nil {
		return hello, err
	}
	for _, l := range s.listeners {
		if l.pausing == nil {
			continue
		}
		if err = c.Send(handover.KindListener, handover.Listener{Setting: l.setting, Address: l.configured}, nil, l.pausing.TCPListener); err != nil {
			return hello, err
		}
	}
	return hello, nil
}

// errNotMovable: what the server does cannot be given to another process.
var errNotMovable = errors.New("cannot be handed over; restart the server instead")

// mayHandOver returns why a process that can take over these kinds of state cannot have
// what there is.
func (s *Server) mayHandOver(kinds []string) error {
	c := s.host.Config()
	switch {
	case c.Cluster:
		return fmt.Errorf("a node of a cluster %w", errNotMovable)
	case len(c.Origin) > 0, len(c.Source) > 0:
		return fmt.Errorf("what is pulled from an origin or a source %w", errNotMovable)
	case c.EventHook != "" && c.EventSpool != "":
		return fmt.Errorf("a spool of events, which one process has, %w", errNotMovable)
	}
	for _, p := range s.host.Register.List() {
		if p.Role == session.RolePublisher && s.host.For(p.Stream).Takeover == config.TakeoverStandby {
			return fmt.Errorf("a publisher with a standby %w", errNotMovable)
		}
	}
	return s.carries(kinds)
}

// give pauses everything, sends it to a process that can take over these kinds, and returns
// nil when it was taken. Otherwise everything goes on.
func (s *Server) give(c *handover.Conn, kinds []string) error {
	for _, l := range s.listeners {
		if l.pausing != nil {
			l.pausing.Pause()
		}
	}
	s.settle()
	began := time.Now()
	c.Within(handover.TakeTime)
	cargo := s.pack()
	taken, err := s.deliver(c, cargo, kinds)
	if !taken {
		cargo.unpack()
		for _, l := range s.listeners {
			if l.pausing != nil {
				l.pausing.Resume()
			}
		}
		return err
	}
	close(s.upgrades.done)
	cargo.leave()
	s.log.Info("handed over", "publishers", cargo.publishers(), "viewers", cargo.viewers(), "took", time.Since(began).Round(time.Microsecond))
	return nil
}

// deliver sends the cargo, and reports whether it was taken.
func (s *Server) deliver(c *handover.Conn, p *cargo, kinds []string) (taken bool, err error) {
	if err = p.send(c, kinds); err != nil {
		return false, c.Reason(err) // not whole, so it cannot have been taken
	}
	_, err = c.Expect(handover.KindTaken, nil)
	if err == nil || c.GiveUp() {
		return true, nil
	}
	return false, err
}

// settle waits until connections that have just come have become sessions, or for
// settleTime.
func (s *Server) settle() {
	for end := time.Now().Add(settleTime); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		a, b := s.rtmp.Arrivals.Stats(), s.web.Arrivals.Stats()
		if a.On+a.Waiting+b.On+b.Waiting == 0 {
			return
		}
	}
}

// letGo ends what keeps ports that the successor waits for, and says which sessions end
// because they could not be handed over.
func (s *Server) letGo() {
	s.upgrades.one.Lock() // until what was given away is off the register
	defer s.upgrades.one.Unlock()
	left := map[string]int{}
	for _, c := range s.host.Register.List() {
		left[c.Protocol]++
		c.EndBecause(session.ErrUpgrade)
		switch c.Protocol {
		case session.SRT, session.WHIP, session.WHEP:
			c.Stop(session.ErrUpgrade)
		}
	}
	if len(left) > 0 {
		s.log.Info("sessions that cannot be handed over end", "by protocol", left)
	}
	if s.webrtc != nil {
		s.webrtc.Drain()
		s.webrtc.Close()
	}
	s.srt.Close()
	s.rtsp.Close()
}

// portTime is for how long a successor waits for ports that its predecessor still has.
const portTime = 5 * time.Second

// latePorts opens the ports that the predecessor had. Without one of them the server
// serves what else there is.
func (s *Server) latePorts(c *config.Config) {
	list := []func(*config.Config) error{s.listenUDP, s.listenWebRTC, s.listenSRT}
	end := time.Now().Add(portTime)
	for _, open := range list {
		err := open(c)
		for over := false; err != nil && !over; err = open(c) {
			time.Sleep(10 * time.Millisecond)
			over = time.Now().After(end) // and once more: this process may have stood still
		}
		if err != nil {
			s.log.Error("a port of the predecessor is not free", "error", err)
		}
	}
}
