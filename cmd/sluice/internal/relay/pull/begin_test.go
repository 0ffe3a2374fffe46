package pull

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/directory"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// found are Nodes that have every stream at one address.
type found struct {
	announced
	address string
}

func (f *found) Sources(string) []directory.Source {
	return []directory.Source{{Node: "a", URL: "http://" + f.address}}
}

// A pull that begins for viewers who are there already is waited for at the server's end.
func TestBeginsAreWaitedFor(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // it answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	hub := live.NewHub(live.HubOptions{})
	defer hub.Close()
	ctx, stop := context.WithCancel(t.Context())
	h := &session.Host{Ctx: ctx, Hub: hub, Log: slog.New(slog.DiscardHandler), Config: func() *config.Config { return new(config.Config) }}
	o := NewCluster(h, &found{address: l.Addr().String()}, nil)
	o.count("live/s", 1)
	o.Moved("live/s", 1)
	now, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Group.Wait(now); err == nil {
		t.Error("nothing is waited for")
	}
	stop()
	if err := h.Group.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if err := o.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
