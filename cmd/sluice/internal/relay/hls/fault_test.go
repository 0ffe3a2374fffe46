package hls

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
)

// A muxer that ends by a fault gives its place among those that begin back: with maxStarting of them HLS would have no more.
func TestAFaultKeepsNoPlaceAmongTheStarting(t *testing.T) {
	contain.InTest(t)
	m := &muxer{server: &Server{starting: 1}} // without a source
	err := contain.Run(slog.New(slog.DiscardHandler), func() error {
		_, _, err := m.tracks(t.Context())
		return err
	})
	if !errors.Is(err, contain.ErrFault) || m.server.starting != 0 {
		t.Errorf("%v, %d are starting", err, m.server.starting)
	}
}
