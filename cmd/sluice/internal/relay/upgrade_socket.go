package relay

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
)

// upgrades is how other processes ask to take this server's place.
type upgrades struct {
	one   sync.Mutex    // held during a handover
	done  chan struct{} // closed when another process has taken over
	start time.Duration // for a successor to become ready

	mu       sync.Mutex
	listener *net.UnixListener // nil: there is none
	path     string
	current  *handover.Conn // of the handover that goes on
	closed   bool
}

// errExposed: others could put their own socket into its place.
var errExposed = errors.New("others can write to its directory")

// UpgradeSocket returns the path of the socket for upgrades, or "" for none.
func UpgradeSocket(c *config.Config, getenv func(string) string) string {
	switch dir := getenv("RUNTIME_DIRECTORY"); {
	case c.UpgradeSocket == "off":
		return ""
	case c.UpgradeSocket != "":
		return c.UpgradeSocket
	case dir == "" || filepath.SplitList(dir)[0] == "":
		return ""
	default:
		return filepath.Join(filepath.SplitList(dir)[0], "upgrade.sock")
	}
}

// listenUpgrades opens the socket for upgrades, if there is to be one. It takes the place
// of one that is there already: that of a process that has ended, or has let go.
func (s *Server) listenUpgrades(c *config.Config) error {
	path := UpgradeSocket(c, os.Getenv)
	if path == "" {
		return nil
	}
	wrong := func(err error) error { return &ListenError{"upgrade-socket", path, err} }
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return wrong(err)
	}
	if dir.Mode().Perm()&0o022 != 0 {
		return wrong(errExposed)
	}
	if !s.successor {
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return wrong(errors.New("another server listens there: see serve --upgrade"))
		}
	}
	// Under a name of its own until only this user can use it.
	own := fmt.Sprintf("%s.%d", path, os.Getpid())
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: own, Net: "unix"})
	if err != nil {
		return wrong(err)
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(own, 0o600); err == nil {
		err = os.Rename(own, path)
	}
	if err != nil {
		l.Close()
		os.Remove(own)
		return wrong(err)
	}
	s.upgrades.mu.Lock()
	defer s.upgrades.mu.Unlock()
	s.upgrades.listener, s.upgrades.path = l, path
	return nil
}

// serveUpgrades serves those who connect to the socket, one after the other.
func (s *Server) serveUpgrades() {
	s.upgrades.mu.Lock()
	l := s.upgrades.listener
	s.upgrades.mu.Unlock()
	if l == nil {
		return
	}
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return // closed
		}
		c, err := handover.NewConn(conn)
		if err != nil {
			s.log.Warn("an upgrade was asked for by a process that may not", "error", err)
			continue
		}
		if s.HandOver(c) == nil {
			return
		}
	}
}

// begin makes c the handover that goes on, unless the server ends.
func (u *upgrades) begin(c *handover.Conn) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return false
	}
	u.current = c
	return true
}

func (u *upgrades) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.current = nil
}

// close closes the socket and ends a handover that goes on.
func (u *upgrades) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	if u.current != nil {
		u.current.Interrupt()
	}
	if u.listener == nil {
		return
	}
	u.listener.Close()
	u.listener = nil
	select {
	case <-u.done: // the path is the successor's
	default:
		os.Remove(u.path)
	}
}
