package source

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ticks come at an interval. In an otherwise idle process the ticks of a
// time.Ticker are at least a millisecond apart: the runtime waits in epoll_wait,
// whose timeout counts milliseconds. A timerfd is an event there.
type ticks struct {
	every  time.Duration
	timer  *os.File     // nil when it could not be made, as without free descriptors
	ticker *time.Ticker // instead of it
	room   [8]byte
}

func newTicks(every time.Duration) *ticks {
	t := &ticks{every: every}
	if fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err == nil {
		t.timer = os.NewFile(uintptr(fd), "timerfd")
		at := unix.NsecToTimespec(every.Nanoseconds())
		if unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: at, Value: at}, nil) == nil {
			return t
		}
		t.stop()
		t.timer = nil
	}
	t.ticker = time.NewTicker(every)
	return t
}

// wait returns when the next tick has come.
func (t *ticks) wait() {
	if t.timer == nil {
		<-t.ticker.C
	} else if _, err := t.timer.Read(t.room[:]); err != nil {
		time.Sleep(t.every) // no error is expected; but a loop must not spin
	}
}

func (t *ticks) stop() {
	if t.timer != nil {
		_ = t.timer.Close()
	} else {
		t.ticker.Stop()
	}
}
