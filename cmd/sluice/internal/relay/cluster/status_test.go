package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/transport"
)

// Messages that were refused are a problem for a while, not until the node ends.
func TestRefusalsPass(t *testing.T) {
	now := time.Now()
	r := transport.Refusal{At: now, Err: errors.New("a wrong secret")}
	if got := refusals(r, now.Add(5*time.Second)); got != "messages are refused, the latest 5s ago: a wrong secret" {
		t.Error(got)
	}
	if got := refusals(r, now.Add(recent)); got != "" {
		t.Error(got)
	}
	if got := refusals(transport.Refusal{}, now); got != "" {
		t.Error(got)
	}
}
