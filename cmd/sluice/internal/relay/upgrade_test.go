//go:build linux

package relay

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
)

func TestUpgradeKeepsTheListeners(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.RTMP, c.SRT, c.WebRTC = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0" })
	first := s.Addresses()
	for range 3 {
		s = upgradeRelay(t, s)
		for _, name := range []string{"rtmp", "http"} {
			if at := s.Addresses()[name]; at != first[name] {
				t.Errorf("%s at %s, was at %s", name, at, first[name])
			}
		}
		if len(s.Addresses()) != len(first) {
			t.Errorf("listens at %v, was %v", s.Addresses(), first)
		}
		if status, body := s.get(t, "/healthz"); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		conn, err := net.Dial("tcp", first["rtmp"])
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
}

// Whatever the successor does wrong, the server goes on.
func TestUpgradeThatFails(t *testing.T) {
	hello := handover.Hello{Format: handover.Format, Version: "x", Kinds: carried}
	welcomed := func(c *handover.Conn) error {
		if err := c.Send(handover.KindHello, hello, nil, nil); err != nil {
			return err
		}
		var w handover.Welcome
		if _, err := c.Expect(handover.KindWelcome, &w); err != nil {
			return err
		}
		for range w.Listeners {
			m, err := c.Expect(handover.KindListener, nil)
			if err != nil {
				return err
			}
			m.File.Close()
		}
		return nil
	}
	for _, c := range []struct {
		name string
		do   func(raw *net.UnixConn, c *handover.Conn) error
		want error // that it gets; nil: any
	}{
		{"ends at once", func(raw *net.UnixConn, _ *handover.Conn) error { return nil }, nil},
		{"garbage", func(raw *net.UnixConn, c *handover.Conn) error {
			raw.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
			_, err := c.Receive()
			return err
		}, handover.ErrRefused},
		{"another format", func(_ *net.UnixConn, c *handover.Conn) error {
			c.Send(handover.KindHello, handover.Hello{Format: handover.Format + 1}, nil, nil)
			_, err := c.Receive()
			return err
		}, handover.ErrRefused},
		{"too long", func(raw *net.UnixConn, c *handover.Conn) error {
			raw.Write([]byte("SLUP\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
			_, err := c.Receive()
			return err
		}, handover.ErrRefused},
		{"takes before it is ready", func(_ *net.UnixConn, c *handover.Conn) error {
			if err := welcomed(c); err != nil {
				return err
			}
			return c.Send(handover.KindTaken, nil, nil, nil)
		}, nil},
		{"ends when it is ready", func(_ *net.UnixConn, c *handover.Conn) error {
			if err := welcomed(c); err != nil {
				return err
			}
			return c.Send(handover.KindReady, nil, nil, nil)
		}, nil},
		{"refuses what it gets", func(_ *net.UnixConn, c *handover.Conn) error {
			if err := welcomed(c); err != nil {
				return err
			}
			c.Send(handover.KindReady, nil, nil, nil)
			for {
				m, err := c.Receive()
				if err != nil || m.Kind == handover.KindWhole {
					c.Refuse("no")
					return nil
				}
				if m.File != nil {
					m.File.Close()
				}
			}
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startRelay(t, nil)
			here, there := handoverPair(t)
			given := make(chan error, 1)
			go func() { given <- s.HandOver(handoverConn(t, here)) }()
			other := handoverConn(t, there)
			if err := c.do(there, other); c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("it gets %v, want %v", err, c.want)
			}
			other.Close()
			err := <-given
			if err == nil {
				t.Fatal("no error")
			}
			s.log.line(t, "upgrade", strconv.Quote(err.Error()))
			if status, body := s.get(t, "/healthz"); status != http.StatusOK {
				t.Fatalf("%d %s", status, body)
			}
			upgradeRelay(t, s) // it can be upgraded all the same
		})
	}
}

// What is banned stays so, without a file too, under its id.
func TestUpgradeKeepsBans(t *testing.T) {
	s := startRelay(t, nil)
	if _, err := s.host.Gate.Ban(access.Ban{By: access.BanStream, Value: "live/a", Action: access.Play}, time.Hour); err != nil {
		t.Fatal(err)
	}
	before := s.host.Gate.Bans()
	s = upgradeRelay(t, s)
	if after := s.host.Gate.Bans(); !slices.EqualFunc(before, after, func(a, b access.Ban) bool { return a.ID == b.ID && a.Value == b.Value && a.Until.Equal(b.Until) }) {
		t.Errorf("%+v, was %+v", after, before)
	}
	if status, _ := s.get(t, "/live/a.flv"); status != http.StatusForbidden {
		t.Errorf("who is banned gets %d", status)
	}
	b, err := s.host.Gate.Ban(access.Ban{By: access.BanToken, Value: "cam7"}, time.Hour)
	if err != nil || b.ID == before[0].ID {
		t.Errorf("the next ban: %+v, %v", b, err)
	}
	if carries(without(bansKind), s.upgrades.orders) == nil {
		t.Error("a version that would forget bans may take over")
	}
}

// A second process is refused while one takes over, and is given the reason also when it
// comes to say something after that.
func TestSecondUpgradeIsRefused(t *testing.T) {
	s := startRelay(t, nil)
	s.upgrades.one.Lock() // as during one
	here, there := handoverPair(t)
	if err := s.HandOver(handoverConn(t, here)); !errors.Is(err, ErrUpgrading) {
		t.Error(err)
	}
	s.upgrades.one.Unlock()
	if _, err := Inherit(handoverConn(t, there), "second"); !errors.Is(err, handover.ErrRefused) || !strings.Contains(err.Error(), ErrUpgrading.Error()) {
		t.Error(err)
	}
	upgradeRelay(t, s)
}

func TestUpgradeIsRefusedBeforeItBegins(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.Origin = []string{"rtmp://127.0.0.1:1"} })
	here, there := handoverPair(t)
	given := make(chan error, 1)
	go func() { given <- s.HandOver(handoverConn(t, here)) }()
	if _, err := Inherit(handoverConn(t, there), "next"); !errors.Is(err, handover.ErrRefused) {
		t.Errorf("%v", err)
	}
	if err := <-given; !errors.Is(err, errNotMovable) {
		t.Errorf("%v", err)
	}
	if status, _ := s.get(t, "/healthz"); status != http.StatusOK {
		t.Error(status)
	}
}

func TestUpgradeSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "upgrade.sock")
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	c := *startRelay(t, nil).host.Config()
	c.UpgradeSocket, c.HTTP = path, "127.0.0.1:0"
	other, err := New(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Listen(); !errors.Is(err, errExposed) {
		t.Errorf("in a directory of others: %v", err)
	}
	other.Close()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if other, err = New(c, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := other.Listen(); !errors.Is(err, errNoSocket) {
		t.Errorf("where a file is: %v", err)
	}
	other.Close()
	if text, err := os.ReadFile(path); string(text) != "a file" {
		t.Errorf("the file that is no socket has become %q, %v", text, err)
	}
	os.Remove(path)
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false) // as by a server that was killed
	left.Close()
	s := startRelay(t, func(c *relayConfig) { c.UpgradeSocket = path })
	if i, err := os.Stat(path); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", i, err)
	}
	if other, err = New(c, Options{}); err != nil {
		t.Fatal(err)
	}
	var listen *ListenError
	if err := other.Listen(); !errors.As(err, &listen) || listen.Setting != "upgrade-socket" {
		t.Errorf("a second server at one socket: %v", err)
	}
	other.Close()
	conn, err := handover.Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close() // its successor has ended
	// The second server that looked whether another is there was the first of two.
	relayEventually(t, "the end of that upgrade", func() bool {
		if strings.Count(s.log.String(), "no upgrade") < 2 || !s.upgrades.one.TryLock() {
			return false
		}
		s.upgrades.one.Unlock()
		return true
	})
	next := upgradeRelay(t, s)
	if conn, err = handover.Dial(path); err != nil {
		t.Fatalf("the successor is not at the socket: %v", err)
	}
	conn.Close()
	next.Close()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}
