package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
)

// upgradeSignal makes the server start its program again and hand over to it.
var upgradeSignal os.Signal = syscall.SIGUSR2

// errFirst: the container, or the machine, would end with this process.
var errFirst = errors.New("this is process 1, with which its container ends")

// replace starts the program at that path, as it is by now, with the same arguments, and
// hands the server over to it. The log says what has come of it.
func replace(program string, server *relay.Server, log *slog.Logger) {
	if err := startSuccessor(program, server, log); err != nil {
		log.Warn("no upgrade", "error", err)
	}
}

func startSuccessor(program string, server *relay.Server, log *slog.Logger) error {
	if os.Getpid() == 1 {
		return errFirst
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	theirs := os.NewFile(uintptr(pair[1]), "successor")
	conn, err := connOf(os.NewFile(uintptr(pair[0]), "predecessor"))
	if err != nil {
		theirs.Close()
		return err
	}
	cmd := exec.Command(program, os.Args[1:]...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, envUpgrade+"=") }), envUpgrade+"=3")
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		conn.Close()
		return err
	}
	go func() {
		if server.HandOver(conn) != nil {
			// It may hang. It has taken nothing over, and cannot any more.
			_ = cmd.Process.Kill()
		}
	}()
	go func() {
		if err := cmd.Wait(); err != nil {
			log.Warn("the process that was to take over has ended", "pid", cmd.Process.Pid, "error", err)
		}
	}()
	return nil
}

// inheritedConn returns the connection of a descriptor that this process was started with.
func inheritedConn(fd uintptr) (*handover.Conn, error) {
	unix.CloseOnExec(int(fd))
	return connOf(os.NewFile(fd, "predecessor"))
}

// connOf returns the connection of a socket, transferred.
func connOf(f *os.File) (*handover.Conn, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	c, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("a %T, not a Unix socket", c)
	}
	return handover.NewConn(u)
}
