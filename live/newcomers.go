package live

import (
	"runtime"
	"time"

	"github.com/sluice-go/sluice/internal/sys"
)

// newcomers are what a loop knows of viewers that it has had for a short time only, and of
// those on their way to it.
type newcomers struct {
	young   []*Viewer // those whose line is not measured yet
	youngAt time.Time // when they are looked at again
	until   time.Time // more are expected until then; zero: none
	looked  time.Time // when the loop last looked for them, or began something new
	yielder yielder
}

const (
	// The line of a new viewer is not measured yet: it is checked more often for a while.
	youngEvery = 100 * time.Millisecond
	youngTime  = 2 * time.Second
	// crowdTime is how long after a viewer has come more are expected.
	crowdTime = time.Second
	// A handshake takes up to four answers, each of which waits until the loop gives way. To
	// do that takes 2 us when there is nothing to answer.
	welcomeEvery = 250 * time.Microsecond
)

// giveWay lets other goroutines run between two rounds.
func (n *newcomers) giveWay() {
	if n.until.IsZero() {
		sys.WakeMonitor() // without it the runtime does not poll while there is always work
		runtime.Gosched()
		return
	}
	n.yielder.yield()
}

// settle gives back what only newcomers need when none has come for a while.
func (n *newcomers) settle(now time.Time) {
	if n.until.IsZero() || now.After(n.until) {
		n.until = time.Time{}
		n.yielder.close()
	}
}
