package systemd

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// States to Notify of.
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
)

// Notify tells the service manager a state, when it has asked for that. getenv is
// os.Getenv.
func Notify(getenv func(string) string, state string) error {
	address := getenv("NOTIFY_SOCKET")
	if address == "" {
		return nil
	}
	if rest, ok := strings.CutPrefix(address, "@"); ok {
		address = "\x00" + rest // one without a file
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("systemd: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("systemd: %w", err)
	}
	return nil
}

// Main is the state in which process pid is the service from now on. The service manager
// takes it from another process than the one that was it only with NotifyAccess=all.
func Main(pid int) string { return "MAINPID=" + strconv.Itoa(pid) + "\n" + Ready }
