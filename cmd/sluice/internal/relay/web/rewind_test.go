package web

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// A viewer of a recording that takes nothing ends with that reason.
func TestRewinderThatTakesNothing(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	v := &rewinder{server: &Server{Host: &session.Host{Times: session.Times{Answer: time.Millisecond}}}, conn: here}
	if err := session.PeerError(v.write([]byte("media"))); !errors.Is(err, live.ErrStalled) {
		t.Errorf("%v", err)
	}
}
