package relay

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
)

// An upgradeSocket is how other processes ask to take this server's place.
type upgradeSocket struct {
	mu       sync.Mutex
	listener *net.UnixListener // nil: there is none
	path     string
	current  *handover.Conn // of the handover that goes on
	closed   bool
}

// errNoSocket: it would be replaced.
var errNoSocket = errors.New("something else than a socket is there")

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

// listen opens the socket at a path, unless that is empty. It takes the place of one that is
// there already: that of a process that has ended, or, for a successor, has let go.
func (u *upgradeSocket) listen(path string, successor bool) error {
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
	if !successor {
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return wrong(errors.New("another server listens there: see serve --upgrade"))
		}
	}
	if there, err := os.Lstat(path); err == nil && there.Mode().Type() != fs.ModeSocket {
		return wrong(errNoSocket)
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
	u.mu.Lock()
	defer u.mu.Unlock()
	u.listener, u.path = l, path
	return nil
}

// serve calls handOver for each process that connects, one after the other, until that
// succeeds.
func (u *upgradeSocket) serve(handOver func(*handover.Conn) error, log *slog.Logger) {
	u.mu.Lock()
	l := u.listener
	u.mu.Unlock()
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
			log.Warn("an upgrade was asked for by a process that may not", "error", err)
			continue
		}
		if handOver(c) == nil {
			return
		}
	}
}

// begin makes c the handover that goes on, unless the server ends.
func (u *upgradeSocket) begin(c *handover.Conn) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return false
	}
	u.current = c
	return true
}

func (u *upgradeSocket) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.current = nil
}

// close closes the socket and ends a handover that goes on. succeeded reports whether the
// path is another process's.
func (u *upgradeSocket) close(succeeded func() bool) {
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
	if !succeeded() {
		os.Remove(u.path)
	}
}
