package relay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/proc"
	"github.com/sluice-go/sluice/lab/internal/rawio"
)

const (
	// longestWait is the timeout of every wait of the load; all should take far less. It is
	// shorter than what a parent waits, so that the load can say what did not come.
	longestWait = 20 * time.Second
	// joining is how many viewers may wait for the server's first byte at once:
	// fewer than a listener's queue takes.
	joining = 64
	// moderation is how often the load looks for what has come. It does not wait in
	// epoll: waking a thread is expensive, above all on virtual machines, and some sends of
	// the server would pay for it, while viewers across a network cost the server
	// nothing to wake. On average this adds half of moderation to the lag.
	moderation = time.Millisecond
	// spareDescriptors are those of the load that are not viewers', and more.
	spareDescriptors = 256
	// longRead is more than a socket's buffer has, mostly.
	longRead = 256 << 10
	// sendsAtOnce is how many frames are sent before what has come is received.
	sendsAtOnce = 200
)

// RunLoad is a load's process. It publishes, lets the viewers join, and writes "ready" to
// out. When it reads "go" from in it measures, and writes a Result as a line of JSON. It
// publishes until in ends; it returns an error earlier if something fails.
func RunLoad(w Work, in io.Reader, out io.Writer) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l, err := newLoad(w)
	if err != nil {
		return err
	}
	defer l.close()
	if err := l.join(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	var lines atomic.Int32
	go func() {
		for asked := bufio.NewScanner(in); asked.Scan(); {
			lines.Add(1)
		}
		lines.Add(1) // the end
	}()
	if err := l.until(func() bool { return lines.Load() > 0 }, math.MaxInt64, "the command to go"); err != nil {
		return err
	}
	r, err := l.measure()
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(r); err != nil {
		return err
	}
	return l.until(func() bool { return lines.Load() > 1 }, math.MaxInt64, "the end")
}

// A load is publishers and their viewers. Viewer n is one of stream n % len(shows).
type load struct {
	work     Work
	began    time.Time
	ep       int
	shows    []*show
	next     int           // of the shows: the one whose frame is due next
	due      time.Duration // when it is
	origin   time.Duration // when the first frame was
	before   int64         // resident bytes of the server before the first connection
	tally    tally
	late     []time.Duration
	viewers  []*viewer
	unviewed time.Duration // Result.Unviewed
	closed   int
	strict   bool // a connection that the server ends is an error
	buf      []byte
	events   []unix.EpollEvent
}

func newLoad(w Work) (l *load, err error) {
	w.Streams = max(1, w.Streams)
	file, err := os.ReadFile(w.Clip)
	if err != nil {
		return nil, err
	}
	clip, err := ParseClip(file)
	if err != nil {
		return nil, err
	}
	if w.Viewers < 0 || w.Viewers == 0 && w.Streams == 1 || w.Joins < 0 || w.Form != RTMP && w.Form != FLV || w.Window <= 0 {
		return nil, fmt.Errorf("relay: %d viewers of %d streams by %q for %v", w.Viewers, w.Streams, w.Form, w.Window)
	}
	l = &load{
		work: w, began: time.Now(), strict: true,
		due: math.MaxInt64, buf: make([]byte, longRead), events: make([]unix.EpollEvent, 512),
	}
	if l.before, err = proc.Resident(w.Server); err != nil {
		return nil, err
	}
	if l.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	sys.RoomForDescriptors(w.Streams + w.Viewers + w.Joins + spareDescriptors)
	if err := l.publish(clip); err != nil {
		l.close()
		return nil, fmt.Errorf("relay: publishing: %w", err)
	}
	return l, nil
}

func (l *load) close() {
	for _, v := range l.viewers {
		v.leave()
	}
	for _, s := range l.shows {
		s.pub.close()
	}
	unix.Close(l.ep)
}

func (l *load) now() time.Duration { return time.Since(l.began) }

// sendDue sends the frames that are due, and returns how long it is until the next. The
// streams take it in order, spread over the time from one frame to the next.
func (l *load) sendDue() (time.Duration, error) {
	for range sendsAtOnce { // a load that cannot keep up ends in time all the same
		now := l.now()
		if now < l.due {
			return l.due - now, nil
		}
		l.late = append(l.late, now-l.due)
		s := l.shows[l.next]
		t, at := s.publish(now)
		if at >= 1<<31 {
			return 0, fmt.Errorf("relay: a publisher that sends for %v of media", time.Duration(at)*time.Millisecond)
		}
		if err := s.send(t.Kind, at, t.Payload); err != nil {
			return 0, err
		}
		if l.next++; l.next == len(l.shows) {
			l.next = 0
		}
		l.due = l.origin + l.shows[l.next].due() + s.clip.every()*time.Duration(l.next)/time.Duration(len(l.shows))
	}
	return 0, nil
}

func (l *load) until(done func() bool, longest time.Duration, what string) error {
	for began := l.now(); !done(); {
		if l.now()-began > longest {
			return fmt.Errorf("relay: %v were not enough for %s", longest, what)
		}
		if err := l.step(50 * time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (l *load) pass(end time.Duration) error {
	return l.until(func() bool { return l.now() >= end }, math.MaxInt64, "")
}

// step sends what is due and receives what has come. When there is nothing to do it
// sleeps, for at most longest.
func (l *load) step(longest time.Duration) error {
	next, err := l.sendDue()
	if err != nil {
		return err
	}
	n, err := rawio.Poll(l.ep, l.events)
	if err != nil {
		return err
	}
	if n == 0 {
		sleep := min(longest, next, moderation)
		if len(l.shows) > 1 { // the next frame is always near: a few are sent together
			sleep = moderation / 4
		}
		pause := unix.NsecToTimespec(sleep.Nanoseconds())
		unix.Nanosleep(&pause, nil) // it may be short
		return nil
	}
	for i := range l.events[:n] {
		at := int(l.events[i].Fd)
		if at < 0 {
			err = l.shows[-1-at].pub.receive(l.buf, func(flv.TagType, uint32, []byte) error {
				return fmt.Errorf("%w: media to a publisher", ErrStream)
			})
		} else {
			err = l.receive(l.viewers[at])
		}
		if err != nil {
			return fmt.Errorf("viewer %d (below 0: a publisher): %w", at, err)
		}
		// Send a frame that has become due meanwhile before more is read.
		if _, err := l.sendDue(); err != nil {
			return err
		}
	}
	return nil
}

func (l *load) receive(v *viewer) error {
	if v.gone {
		return nil
	}
	l.tally.now = l.now()
	err := v.receive(l.buf, v.take)
	if err == nil || l.strict || !errors.Is(err, errDismissed) && !errors.Is(err, io.EOF) {
		return err
	}
	v.leave()
	l.closed++
	return nil
}

func (l *load) ends() [][2]int {
	ends := make([][2]int, len(l.shows))
	for i, s := range l.shows {
		ends[i] = s.ends()
	}
	return ends
}

func (l *load) published() (n int) {
	for _, s := range l.shows {
		n += s.count
	}
	return n
}

func (l *load) behind(ends [][2]int) int {
	n := 0
	for i, v := range l.viewers {
		if !v.gone && v.behind(ends[i%len(ends)]) {
			n++
		}
	}
	return n
}

func (l *load) measure() (r Result, err error) {
	l.strict = false
	l.late = l.late[:0]
	since, sent := l.tally.delivered, l.published()
	for _, v := range l.viewers {
		v.mark = v.bytes
	}
	cpu, err := proc.CPU(l.work.Server)
	if err != nil {
		return r, err
	}
	own, _ := proc.CPU(0) // of this process it does not fail
	start := l.now()
	l.tally.from, l.tally.to = start, start+l.work.Window
	if err := l.window(start); err != nil {
		return r, err
	}
	ownAfter, _ := proc.CPU(0)
	r.Window, r.Busy = l.now()-start, float64(ownAfter-own)/float64(l.now()-start)
	after, err := proc.CPU(l.work.Server)
	if err != nil {
		return r, err
	}
	r.CPU, r.Published, r.Delivered = after-cpu, l.published()-sent, l.tally.delivered-since
	if r.Resident, err = proc.Resident(l.work.Server); err != nil {
		return r, err
	}
	r.Grown = r.Resident - l.before
	for _, v := range l.viewers {
		r.Bytes += v.bytes - v.mark
	}
	r.Late = echobench.Quantile(l.late, 0.99)
	ends := l.ends()
	// What is late is not lost yet; what has not come by then is.
	_ = l.until(func() bool { return l.behind(ends) == 0 }, longestWait, "the last frames")
	r.Since, r.Closed, r.Odd, r.Oddity = l.tally.delivered-since, l.closed, l.tally.oddities, l.tally.oddity
	var keys []time.Duration
	for i, v := range l.viewers {
		joined := i >= l.work.Viewers
		if !joined || v.key > 0 && !l.work.AtOnce {
			r.Lost += v.lost(ends[i%len(ends)])
		}
		if v.key > 0 && joined == (l.work.Joins > 0) {
			keys = append(keys, v.key-v.asked)
		}
	}
	r.Served = len(keys)
	r.KeyP50, r.KeyP99 = echobench.Quantile(keys, 0.5), echobench.Quantile(keys, 0.99)
	r.Unviewed = l.unviewed
	r.HopP50, r.HopP99 = echobench.Quantile(l.tally.hops, 0.5), echobench.Quantile(l.tally.hops, 0.99)
	r.LagP50, r.LagP99 = echobench.Quantile(l.tally.lags, 0.5), echobench.Quantile(l.tally.lags, 0.99)
	return r, nil
}
