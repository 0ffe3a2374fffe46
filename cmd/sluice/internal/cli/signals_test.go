package cli

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay"
)

// A signal ends a server that hangs as it begins, with a directory on a disk that does not answer, say. One that comes as
// it begins, and does not hang, is for the server.
func TestASignalWhileTheServerBegins(t *testing.T) {
	for _, c := range []struct {
		name    string
		begins  time.Duration
		signals []time.Duration // when they come
		ended   time.Duration   // by them; 0: not
		left    int             // of the signals
	}{
		{"none", time.Hour, nil, 0, 0},
		{"one, and it hangs", time.Hour, []time.Duration{time.Second}, time.Second + beginEnd, 0},
		{"two, and it hangs", time.Hour, []time.Duration{time.Second, 2 * time.Second}, 2 * time.Second, 0},
		{"one, and it begins", 2 * time.Second, []time.Duration{time.Second}, 0, 1},
		{"one after it", time.Second, []time.Duration{2 * time.Second}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := signals{end: make(chan os.Signal, 2)}
				for _, at := range c.signals {
					time.AfterFunc(at, func() { s.end <- os.Interrupt })
				}
				began, wrong := time.Now(), errors.New("what open returns")
				_, err := begun(s, func() (*relay.Server, error) {
					<-time.After(c.begins)
					return nil, wrong
				})
				want := c.begins
				if c.ended > 0 {
					want = c.ended
				}
				if took := time.Since(began); took != want || (c.ended == 0) != errors.Is(err, wrong) {
					t.Errorf("after %v: %v", took, err)
				}
				<-time.After(2 * time.Hour)
				if len(s.end) != c.left {
					t.Errorf("%d signals are left", len(s.end))
				}
			})
		})
	}
}
