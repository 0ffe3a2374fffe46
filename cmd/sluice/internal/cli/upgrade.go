package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
)

// envUpgrade names the descriptor of the connection to the process that has started this
// one to take its place.
const envUpgrade = "SLUICE_UPGRADE_FD"

// errNoSocket: the settings name no socket to find the server at.
var errNoSocket = errors.New("upgrade: no socket: set upgrade-socket for both servers")

// inheritance returns what this process takes over, or nil for nothing: from
// the process that has started it, or, with asked, from the one that serves at the socket
// for upgrades.
func inheritance(c *config.Config, asked bool) (*relay.Inheritance, error) {
	var conn *handover.Conn
	var err error
	switch number := os.Getenv(envUpgrade); {
	case number != "":
		os.Unsetenv(envUpgrade) // not for the commands that this server runs
		fd, wrong := strconv.ParseUint(number, 10, 16)
		if wrong != nil {
			return nil, fmt.Errorf("upgrade: %s=%.20q is no descriptor", envUpgrade, number)
		}
		conn, err = inheritedConn(uintptr(fd))
	case asked:
		path := relay.UpgradeSocket(c, os.Getenv)
		if path == "" {
			return nil, errNoSocket
		}
		conn, err = handover.Dial(path)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("upgrade: %w", err)
	}
	i, err := relay.Inherit(conn, buildVersion())
	if err != nil {
		return nil, fmt.Errorf("upgrade: %w", err)
	}
	return i, nil
}

// refuse tells the predecessor, if there is one, why this process does not take over.
func refuse(from *relay.Inheritance, reason error) {
	if from != nil {
		from.Refuse(reason)
	}
}
