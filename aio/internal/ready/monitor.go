//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"time"

	"github.com/sluice-go/sluice/internal/sys"
)

// monitorEvery is how often the runtime's monitor thread is woken at most. It preempts
// what runs longer than this.
const monitorEvery = 10 * time.Millisecond

// monitor makes the runtime's monitor thread look after what the program does between two
// calls of Wait. When all processors are idle that thread sleeps, until the next timer or
// a system call that the scheduler is notified of: those of the driver's loop are not, since
// waking it takes as long as echoing a small message. So it is woken by the first message,
// and by a timer when it has gone to sleep again.
type monitor struct {
	slept bool          // in Wait, since the last call of woke
	until time.Duration // the timer's
	timer *time.Timer
}

// woke is called when a sleep in Wait is over.
func (m *monitor) woke(now time.Duration) {
	m.slept = false
	if now < m.until {
		return
	}
	m.until = now + monitorEvery
	if m.timer == nil {
		m.timer = time.AfterFunc(monitorEvery, func() {})
	} else {
		m.timer.Reset(monitorEvery)
	}
	sys.WakeMonitor()
}
