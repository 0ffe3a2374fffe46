package hls

import (
	"errors"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// Of two requests that make a viewer at once the slower one has that of the other, who may
// have ended before it is looked at: by a kick, or with the server.
func TestTheViewerOfAFasterRequestEnds(t *testing.T) {
	s := New(&session.Host{}, 0, 0)
	key := viewerKey{id: "a"}
	s.viewers[key] = &viewer{}
	v, err := s.admitted(key, session.Info{}, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.viewers, key)
	}, nil)
	if v != nil || !errors.Is(err, errGone) {
		t.Errorf("viewer %v, error %v, want none and errGone", v, err)
	}
}
