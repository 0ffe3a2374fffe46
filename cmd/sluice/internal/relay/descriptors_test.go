package relay

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// A server that can have few descriptors says at its start that most of the connections of its limits are refused.
func TestFewDescriptorsAreWarnedOf(t *testing.T) {
	few := config.Default()
	few.MaxViewers, few.MaxStreams, few.MaxHandshakes = 10, 5, 5
	for _, c := range []struct {
		settings    config.Config
		descriptors int
		lines       int
	}{{config.Default(), 20, 1}, {config.Default(), 1024, 1}, {config.Default(), 20000, 0}, {config.Default(), 0, 0}, {few, 20, 0}, {few, 9, 1}} {
		var log bytes.Buffer
		warnOfDescriptors(&c.settings, c.descriptors, slog.New(slog.NewTextHandler(&log, nil)))
		if n := bytes.Count(log.Bytes(), []byte("level=WARN")); n != c.lines {
			t.Errorf("%d descriptors for %d connections: %s", c.descriptors, c.settings.Connections(), &log)
		}
	}
}
