package source

import (
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/sys"
)

// monitorEvery is how often the runtime's monitor thread is woken at most. It preempts
// what runs longer than this.
const monitorEvery = 10 * time.Millisecond

// monitorSoon is the time between two reads from which a timer costs less than to wake the
// monitor thread for each: it fires when all else is idle, too.
const monitorSoon = monitorEvery / 8

// monitor makes the runtime's monitor thread look after what goroutines do with the bytes
// that they have waited for. When all processors are idle that thread sleeps, until the next
// timer or a system call that the scheduler is notified of. Reads without one leave it
// asleep, and it alone preempts a goroutine that keeps its processor. So a read wakes it.
// When the next one follows soon, a timer does so for those that come in the time after it:
// the monitor thread knows when the timer is due.
//
// It is one for all readers, and for any goroutine.
var monitor struct {
	latest atomic.Int64 // when a read has woken it, in nanoseconds since began
	until  atomic.Int64 // until then the timer takes care
	timer  atomic.Pointer[time.Timer]
}

var began = time.Now()

// waited is called after a read that was preceded by a wait.
func waited() {
	now := int64(time.Since(began))
	until := monitor.until.Load()
	if now < until {
		return
	}
	// The timer is set before the monitor thread is woken, which looks at it before it
	// sleeps again.
	if latest := monitor.latest.Swap(now); now-latest < int64(monitorSoon) && monitor.until.CompareAndSwap(until, now+int64(monitorEvery)) {
		armTimer()
	}
	sys.WakeMonitor()
}

func armTimer() {
	if t := monitor.timer.Load(); t != nil {
		t.Reset(monitorEvery)
		return
	}
	t := time.AfterFunc(monitorEvery, func() {})
	monitor.timer.CompareAndSwap(nil, t)
}
