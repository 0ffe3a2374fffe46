//go:build linux

package relay

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// A successor that hangs, or says why it cannot go on, costs viewers nothing, and the log
// says what was wrong.
func TestUpgradeThatIsGivenUp(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.RTMP, c.Grace = "127.0.0.1:0", 0 })
	x := newCrossing(t)
	x.publish(s, "a")
	relayEventually(t, "the stream", func() bool { _, ok := s.host.Hub.Stream("live/a"); return ok })
	x.watch(s, "live/a", 0)
	s.viewersOf(t, "live/a", 3)
	x.frames(20)
	for _, c := range []struct {
		name string
		do   func(from *Inheritance, c *handover.Conn) // c is from's connection
		want error
		log  string
	}{
		{"never ready", func(*Inheritance, *handover.Conn) {}, os.ErrDeadlineExceeded, "does not become ready"},
		{"cannot listen", func(from *Inheritance, _ *handover.Conn) { from.Refuse(errors.New("the port is taken")) }, handover.ErrRefused, "the port is taken"},
		{"cannot take over", func(from *Inheritance, c *handover.Conn) {
			if err := c.Send(handover.KindReady, nil, nil, nil); err != nil {
				t.Error(err)
			}
			_, _ = c.Receive() // nothing, when the old one gave up before
			from.Refuse(errors.New("the stream makes no sense"))
			from.Close()
		}, handover.ErrRefused, "the stream makes no sense"},
	} {
		if c.want == os.ErrDeadlineExceeded {
			s.upgrades.start = 100 * time.Millisecond
		}
		err := s.failing(t, c.do)
		// On a busy machine the time for the handover passes before.
		for errors.Is(err, session.ErrNotStill) || errors.Is(err, os.ErrDeadlineExceeded) && c.want != os.ErrDeadlineExceeded {
			err = s.failing(t, c.do)
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		s.upgrades.start = handover.StartTime
		s.log.line(t, "upgrade failed, this server goes on", c.log)
		x.frames(20)
	}
	s = upgradeRelay(t, s)
	x.frames(20)
	x.finish()
}

// failing lets a process ask for an upgrade that fails, and returns what the server says of it.
func (s *relayServer) failing(t *testing.T, do func(from *Inheritance, c *handover.Conn)) error {
	t.Helper()
	from, c, given := s.inherited(t, "faulty")
	defer from.Close()
	c.Within(relayWait)
	do(from, c)
	return <-given
}

// A process of another format is not taken over from.
func TestPredecessorOfAnotherFormat(t *testing.T) {
	here, there := handoverPair(t)
	old := handoverConn(t, here)
	defer old.Close()
	if err := old.Send(handover.KindWelcome, handover.Welcome{Format: handover.Format + 1}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := Inherit(handoverConn(t, there), "next"); !errors.Is(err, handover.ErrProtocol) {
		t.Error(err)
	}
}

// A server that is to end does not wait for a successor that hangs.
func TestEndDuringAnUpgrade(t *testing.T) {
	s := startRelay(t, nil)
	s.upgrades.start = time.Hour
	began := time.Now()
	if err := s.failing(t, func(*Inheritance, *handover.Conn) { s.stop() }); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	if took := time.Since(began); took > relayWait {
		t.Errorf("it took %v", took)
	}
}
