//go:build !linux

package cli

import (
	"log/slog"
	"os"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
)

// upgradeSignal is none.
var upgradeSignal os.Signal

func replace(string, *relay.Server, *slog.Logger) {}

func inheritedConn(uintptr) (*handover.Conn, error) { return nil, handover.ErrSystem }
