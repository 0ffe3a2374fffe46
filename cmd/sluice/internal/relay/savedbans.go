package relay

import (
	"context"
	"log/slog"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

// bansNotSaved is a line of the log.
const bansNotSaved = "bans are not saved: that is tried again with the next change, every 10 s, and at the end of the server"

// saveBansEvery is how often bans are saved that are not in the file as they are. A server that
// is killed loses so much: when the clock was set, the file has the ends by the old clock.
const saveBansEvery = 10 * time.Second

// saveBans saves them at each tick, until ctx is done or another process has the file.
func saveBans(ctx context.Context, gate *access.Gate, tick <-chan time.Time, handedOver func() bool, log *slog.Logger) {
	failed := false
	for {
		select {
		case <-tick:
		case <-ctx.Done():
			return
		}
		if handedOver() {
			return
		}
		err := gate.SaveBans()
		switch {
		case err != nil && !failed:
			log.Error(bansNotSaved, "error", err)
		case err == nil && failed:
			log.Info("bans are saved again")
		}
		failed = err != nil
	}
}
