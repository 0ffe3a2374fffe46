package edge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/live"
)

// server is what a relay has to do for its puller.
type server struct{ hub *live.Hub }

func (s server) Publish(stream, origin string) (edge.Sink, error) {
	return s.hub.Publish(stream, live.PublishOptions{Name: origin})
}

func (s server) Viewers(stream string) int {
	if st, ok := s.hub.Stream(stream); ok {
		return st.Stats().Viewers
	}
	return 0
}

func Example() {
	far := httptest.NewServer(http.NotFoundHandler())
	defer far.Close()
	origin, err := edge.ParseOrigin(far.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	hub := live.NewHub(live.HubOptions{})
	defer hub.Close()
	puller := edge.New(edge.Options{Origins: []*edge.Origin{origin}, Local: server{hub}, Logger: slog.New(slog.DiscardHandler)})
	defer puller.Close()

	err = puller.Pull(context.Background(), "live/s", nil)
	fmt.Println(errors.Is(err, edge.ErrNotFound))
	// Output: true
}
