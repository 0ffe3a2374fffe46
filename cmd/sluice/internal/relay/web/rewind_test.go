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

// A viewer of a recording says nothing, as one of a stream: one that sends without an end is closed.
func TestRewinderThatFloods(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	v := &rewinder{conn: here}
	why := make(chan error, 1)
	go func() {
		why <- v.listen(time.Now())
		here.Close()
	}()
	p := make([]byte, 64<<10)
	for range 4 * session.ViewerBytes / len(p) {
		if _, err := there.Write(p); err != nil {
			break
		}
	}
	there.Close()
	if err := <-why; !errors.Is(err, session.ErrFloods) {
		t.Errorf("%v", err)
	}
}
