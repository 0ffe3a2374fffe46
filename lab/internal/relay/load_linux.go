package relay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/rawio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

const (
	// longestWait is the timeout of every wait of the load; all should take far less.
	longestWait = time.Minute
	// joining is how many viewers may wait for the server's first byte at once:
	// fewer than a listener's queue takes.
	joining = 64
	// moderation is how often the load looks for what has come. It does not wait in
	// epoll: waking a thread is expensive, above all on virtual machines, and some sends of
	// the server would pay for it, while viewers across a network cost the server
	// nothing to wake. On average this adds half of moderation to the lag.
	moderation = time.Millisecond
	// longRead is more than a socket's buffer has, mostly.
	longRead = 256 << 10
)

// RunLoad is a load's process. It reads a Work as a line of JSON from in,
// publishes, lets the viewers join, and writes "ready" to out. When it reads "go"
// it measures, and writes a Result as a line of JSON. It publishes until in ends;
// it returns an error earlier if something fails.
func RunLoad(in io.Reader, out io.Writer) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	asked := bufio.NewReader(in)
	line, err := asked.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("relay: the load has no work: %w", err)
	}
	var w Work
	if err := json.Unmarshal(line, &w); err != nil {
		return fmt.Errorf("relay: the load's work: %w", err)
	}
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
		for {
			_, err := asked.ReadString('\n')
			lines.Add(1)
			if err != nil {
				return
			}
		}
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

// A load is a publisher and its viewers.
type load struct {
	work    Work
	began   time.Time
	ep      int
	show    show
	tally   tally
	pub     *client
	due     time.Duration // when the next frame is
	origin  time.Duration // when the first one was
	late    []time.Duration
	viewers []*viewer
	closed  int
	strict  bool // a connection that the server ends is an error
	buf     []byte
	events  []unix.EpollEvent
}

func newLoad(w Work) (l *load, err error) {
	file, err := os.ReadFile(w.Clip)
	if err != nil {
		return nil, err
	}
	clip, err := ParseClip(file)
	if err != nil {
		return nil, err
	}
	if w.Viewers < 1 || w.Joins < 0 || w.Form != RTMP && w.Form != FLV || w.Window <= 0 {
		return nil, fmt.Errorf("relay: %d viewers by %q for %v", w.Viewers, w.Form, w.Window)
	}
	to, err := address(w.Publish)
	if err != nil {
		return nil, err
	}
	l = &load{
		work: w, began: time.Now(), show: show{clip: clip}, strict: true,
		due: math.MaxInt64, buf: make([]byte, longRead), events: make([]unix.EpollEvent, 512),
	}
	if l.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if l.pub, err = dial(l.ep, -1, to, &l.work, true); err == nil {
		err = l.publish()
	}
	if err != nil {
		l.close()
		return nil, fmt.Errorf("relay: the publisher: %w", err)
	}
	return l, nil
}

func address(s string) (*unix.SockaddrInet4, error) {
	addr, err := netip.ParseAddrPort(s)
	if err != nil || !addr.Addr().Is4() {
		return nil, fmt.Errorf("relay: %.60q is no IPv4 address with a port", s)
	}
	return &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}, nil
}

func (l *load) close() {
	for _, v := range l.viewers {
		if !v.gone {
			v.close()
		}
	}
	if l.pub != nil {
		l.pub.close()
	}
	unix.Close(l.ep)
}

func (l *load) now() time.Duration { return time.Since(l.began) }

// publish waits until the server lets it, and sends what stands before the media.
func (l *load) publish() error {
	if err := l.until(func() bool { return len(l.pub.steps) == 0 }, longestWait, "leave to publish"); err != nil {
		return err
	}
	for _, t := range l.show.clip.Head {
		payload := t.Payload
		if t.Kind == flv.TagScript {
			name, err := flv.AppendScript(nil, "@setDataFrame")
			if err != nil {
				return err
			}
			payload = append(name, payload...)
		}
		if err := l.send(t.Kind, 0, payload); err != nil {
			return err
		}
	}
	l.origin = l.now()
	l.due = l.origin
	return nil
}

func (l *load) send(kind flv.TagType, at uint32, payload []byte) error {
	c := l.pub.rtmp
	err := c.WriteMessage(rtmp.Message{Type: rtmp.MessageType(kind), StreamID: c.StreamID(), Time: at, Payload: mem.Wrap(payload, nil)})
	if err == nil {
		err = c.Flush()
	}
	return err
}

// sendDue sends each frame that is due, and returns how long it is until the next.
func (l *load) sendDue() (time.Duration, error) {
	for {
		now := l.now()
		if now < l.due {
			return l.due - now, nil
		}
		l.late = append(l.late, now-l.due)
		t, at := l.show.publish(now)
		if at >= 1<<31 {
			return 0, fmt.Errorf("relay: a publisher that sends for %v of media", time.Duration(at)*time.Millisecond)
		}
		if err := l.send(t.Kind, at, t.Payload); err != nil {
			return 0, err
		}
		_, next := l.show.clip.at(l.show.count)
		l.due = l.origin + time.Duration(next)*time.Millisecond
	}
}

// until turns until done, for at most longest.
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

// pass goes on until a given time.
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
	n, errno := rawio.Poll(l.ep, l.events)
	if errno != 0 {
		return os.NewSyscallError("epoll_wait", errno)
	}
	if n <= 0 {
		pause := unix.NsecToTimespec(min(longest, next, moderation).Nanoseconds())
		unix.Nanosleep(&pause, nil) // it may be short
		return nil
	}
	for i := range l.events[:n] {
		at := int(l.events[i].Fd)
		if at < 0 {
			err = l.pub.receive(l.buf, func(flv.TagType, uint32, []byte) error {
				return fmt.Errorf("%w: media to a publisher", ErrStream)
			})
		} else {
			err = l.receive(l.viewers[at])
		}
		if err != nil {
			return fmt.Errorf("viewer %d (-1 is the publisher): %w", at, err)
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
	v.close()
	v.gone = true
	l.closed++
	return nil
}

// join has all viewers join, and returns when each of them has a frame that was
// sent after that, and Warm has passed.
func (l *load) join() error {
	to, err := address(l.work.View)
	if err != nil {
		return err
	}
	if err := l.pass(l.now() + l.work.Warm); err != nil {
		return err
	}
	waiting := func() (n int) {
		for _, v := range l.viewers {
			if v.bytes == 0 {
				n++
			}
		}
		return n
	}
	for number := range l.work.Viewers {
		if err := l.until(func() bool { return waiting() < joining }, longestWait, "the server's first bytes to viewers"); err != nil {
			return err
		}
		if err := l.connect(to, number == 0 || number == l.work.Viewers-1); err != nil {
			return err
		}
	}
	joined, end := l.now(), l.show.ends()
	end[video]++
	end[audio]++
	err = l.until(func() bool { return l.now() >= joined+l.work.Warm && l.behind(end) == 0 }, longestWait, "all viewers to be up with the publisher")
	if err != nil {
		return fmt.Errorf("%w: %d of %d are behind", err, l.behind(end), len(l.viewers))
	}
	return nil
}

// connect adds a viewer.
func (l *load) connect(to unix.Sockaddr, look bool) error {
	asked, number := l.now(), len(l.viewers)
	c, err := dial(l.ep, number, to, &l.work, false)
	if err != nil {
		return fmt.Errorf("relay: viewer %d: %w", number, err)
	}
	l.viewers = append(l.viewers, &viewer{client: c, show: &l.show, tally: &l.tally, asked: asked, look: look})
	return nil
}

func (l *load) behind(ends [2]int) int {
	n := 0
	for _, v := range l.viewers {
		if !v.gone && v.behind(ends) {
			n++
		}
	}
	return n
}

// measure runs the window, and waits for the rest of its frames.
func (l *load) measure() (r Result, err error) {
	l.strict = false
	l.late = l.late[:0]
	since, sent := l.tally.delivered, l.show.count
	for _, v := range l.viewers {
		v.mark = v.bytes
	}
	cpu, err := rawio.CPUTime(l.work.Server)
	if err != nil {
		return r, err
	}
	own, _ := rawio.CPUTime(0) // of this process it does not fail
	start := l.now()
	l.tally.from, l.tally.to = start, start+l.work.Window
	if err := l.window(start); err != nil {
		return r, err
	}
	ownAfter, _ := rawio.CPUTime(0)
	r.Window, r.Busy = l.now()-start, float64(ownAfter-own)/float64(l.now()-start)
	after, err := rawio.CPUTime(l.work.Server)
	if err != nil {
		return r, err
	}
	r.CPU, r.Published, r.Delivered = after-cpu, l.show.count-sent, l.tally.delivered-since
	if r.Resident, err = rawio.Resident(l.work.Server); err != nil {
		return r, err
	}
	for _, v := range l.viewers {
		r.Bytes += v.bytes - v.mark
	}
	r.Late = echobench.Quantile(l.late, 0.99)
	ends := l.show.ends()
	// What is late is not lost yet; what has not come by then is.
	_ = l.until(func() bool { return l.behind(ends) == 0 }, longestWait, "the last frames")
	r.Since, r.Closed, r.Odd, r.Oddity = l.tally.delivered-since, l.closed, l.tally.oddities, l.tally.oddity
	var keys []time.Duration
	for i, v := range l.viewers {
		joined := i >= l.work.Viewers
		if !joined || v.key > 0 && !l.work.AtOnce {
			r.Lost += v.lost(ends)
		}
		if v.key > 0 && joined == (l.work.Joins > 0) {
			keys = append(keys, v.key-v.asked)
		}
	}
	r.Served = len(keys)
	r.KeyP50, r.KeyP99 = echobench.Quantile(keys, 0.5), echobench.Quantile(keys, 0.99)
	r.LagP50, r.LagP99 = echobench.Quantile(l.tally.lags, 0.5), echobench.Quantile(l.tally.lags, 0.99)
	return r, nil
}
