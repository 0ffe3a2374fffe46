package relay

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/lab/internal/proc"
	"github.com/sluice-go/sluice/lab/internal/rawio"
)

// publish connects the publishers, waits until the server has admitted them, and sends
// what stands before the media.
func (l *load) publish(clip *Clip) error {
	to, err := rawio.Address(l.work.Publish)
	if err != nil {
		return err
	}
	waiting := func() (n int) {
		for _, s := range l.shows {
			if len(s.pub.steps) > 0 {
				n++
			}
		}
		return n
	}
	for i := range l.work.Streams {
		pub, err := dial(l.ep, -1-i, to, &l.work, l.stream(i), true)
		if err != nil {
			return err
		}
		// Key frames of the streams do not come together.
		l.shows = append(l.shows, &show{clip: clip, pub: pub, skip: i % len(clip.Media)})
		if err := l.until(func() bool { return waiting() < joining }, longestWait, "leave to publish"); err != nil {
			return err
		}
	}
	if err := l.until(func() bool { return waiting() == 0 }, longestWait, "leave to publish"); err != nil {
		return err
	}
	for _, s := range l.shows {
		if err := s.head(); err != nil {
			return err
		}
	}
	l.origin = l.now()
	l.due = l.origin
	return nil
}

func (l *load) stream(n int) string {
	if l.work.Streams == 1 {
		return l.work.Stream
	}
	return l.work.Stream + strconv.Itoa(n)
}

// join has all viewers join, and returns when each of them has a frame that was
// sent after that, and Warm has passed.
func (l *load) join() error {
	var to []*unix.SockaddrInet4
	for text := range strings.SplitSeq(l.work.View, ",") {
		one, err := rawio.Address(text)
		if err != nil {
			return err
		}
		to = append(to, one)
	}
	most := joining
	if l.work.OneByOne {
		most = 1
	}
	if err := l.pass(l.now() + l.work.Warm); err != nil {
		return err
	}
	if err := l.measureUnviewed(); err != nil {
		return err
	}
	waiting := func() (n int) {
		for _, v := range l.viewers {
			if v.bytes == 0 || l.work.OneByOne && v.key == 0 {
				n++
			}
		}
		return n
	}
	for number := range l.work.Viewers {
		if err := l.until(func() bool { return waiting() < most }, longestWait, "the server's first bytes to viewers"); err != nil {
			return err
		}
		if err := l.connect(to[number%len(to)], number == 0 || number == l.work.Viewers-1); err != nil {
			return err
		}
	}
	joined, ends := l.now(), l.ends()
	for i, s := range l.shows {
		for which, n := range s.clip.counts {
			ends[i][which] += min(n, 1)
		}
	}
	err := l.until(func() bool { return l.now() >= joined+l.work.Warm && l.behind(ends) == 0 }, longestWait, "all viewers to be up with the publisher")
	if err != nil {
		return fmt.Errorf("%w: %d of %d are behind", err, l.behind(ends), len(l.viewers))
	}
	return nil
}

func (l *load) measureUnviewed() error {
	if !l.work.Unviewed {
		return nil
	}
	before, err := proc.CPU(l.work.Server)
	if err == nil {
		err = l.pass(l.now() + l.work.Window)
	}
	if err != nil {
		return err
	}
	after, err := proc.CPU(l.work.Server)
	l.unviewed = after - before
	return err
}

func (l *load) connect(to unix.Sockaddr, look bool) error {
	asked, number := l.now(), len(l.viewers)
	stream := number % len(l.shows)
	c, err := dial(l.ep, number, to, &l.work, l.stream(stream), false)
	if err != nil {
		return fmt.Errorf("relay: viewer %d: %w", number, err)
	}
	l.viewers = append(l.viewers, &viewer{client: c, show: l.shows[stream], tally: &l.tally, asked: asked, look: look})
	if l.work.Hop {
		l.viewers[number].far = number % 2
	}
	return nil
}

// window passes the time of the measurement, in which further viewers join.
func (l *load) window(start time.Duration) error {
	if l.work.Joins == 0 {
		return l.pass(start + l.work.Window)
	}
	to, err := rawio.Address(l.work.View)
	if err != nil {
		return err
	}
	for left := l.work.Window; left > 0; left = start + l.work.Window - l.now() {
		due := l.work.Joins
		if !l.work.AtOnce {
			due = int(int64(due) * int64(l.now()-start) / int64(l.work.Window))
		}
		// A few at a time, so that what has come is not looked at late.
		for n := 0; n < joining && len(l.viewers) < l.work.Viewers+due; n++ {
			if err := l.connect(to, false); err != nil {
				return err
			}
		}
		if err := l.step(min(left, moderation/4)); err != nil {
			return err
		}
		if l.work.AtOnce {
			l.dismiss()
		}
	}
	return nil
}

// dismiss closes the connections of those who have joined in the window and have a key
// frame.
func (l *load) dismiss() {
	for _, v := range l.viewers[l.work.Viewers:] {
		if v.key > 0 {
			v.leave()
		}
	}
}
