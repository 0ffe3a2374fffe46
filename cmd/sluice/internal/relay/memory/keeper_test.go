package memory

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// What lies unread in the kernel counts: new publishers are refused for it, until
// it has been read.
func TestReceiveQueuesCount(t *testing.T) {
	unread := int64(0)
	hub, writer := live.NewHub(live.HubOptions{}), live.NewWriter(live.WriterOptions{})
	defer hub.Close()
	defer writer.Close()
	k := New(Options{Most: 64 << 20, Alloc: mem.Default(), Hubs: []*live.Hub{hub}, Writer: writer, Unread: func(int64) int64 { return unread }, Logger: slog.New(slog.DiscardHandler)})
	now := time.Now()
	step := func() {
		now = now.Add(unreadEvery)
		k.step(now)
	}
	if step(); k.Admit() != nil {
		t.Errorf("an idle server: %v", k.Admit())
	}
	unread = 30 << 20 // the kernel uses up to twice as much for it
	if step(); !errors.Is(k.Admit(), session.ErrFull) {
		t.Errorf("60 MiB of 64 are used: %v", k.Admit())
	}
	unread = 1 << 20
	if step(); k.Admit() != nil {
		t.Errorf("it was read: %v", k.Admit())
	}
}
