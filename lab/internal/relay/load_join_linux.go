package relay

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/rawio"
)

// join has all viewers join, and returns when each of them has a frame that was
// sent after that, and Warm has passed.
func (l *load) join() error {
	if err := l.pass(l.now() + l.work.Warm); err != nil {
		return err
	}
	for len(l.viewers) < cap(l.viewers) {
		if err := l.until(func() bool { return l.waiting < joining }, patience, "the server's first bytes to viewers"); err != nil {
			return err
		}
		if err := l.dial(); err != nil {
			return fmt.Errorf("relay: viewer %d: %w", len(l.viewers), err)
		}
	}
	joined := l.now()
	ends := l.ends()
	end := [2]int{ends[video] + 1, ends[audio] + 1}
	err := l.until(func() bool { return l.now() >= joined+l.work.Warm && l.behind(end) == 0 }, patience, "all viewers to be up with the publisher")
	if err != nil {
		return fmt.Errorf("%w: %d of %d are behind", err, l.behind(end), len(l.viewers))
	}
	return nil
}

// ends are the numbers of the frames that will be sent next.
func (l *load) ends() [2]int { return [2]int{len(l.show.sent[video]), len(l.show.sent[audio])} }

func (l *load) behind(ends [2]int) int {
	n := 0
	for i := range l.viewers {
		if !l.viewers[i].gone && l.viewers[i].seat.behind(ends) {
			n++
		}
	}
	return n
}

func (l *load) dial() error {
	fd, err := connected(l.view)
	if err != nil {
		return err
	}
	number := len(l.viewers)
	l.viewers = append(l.viewers, viewer{fd: fd, asked: l.now()})
	v := &l.viewers[number]
	v.seat = seat{show: &l.show, tally: &l.tally, frame: -1, replies: func(uint8, []byte) error { return nil }}
	look := number == 0 || number == cap(l.viewers)-1
	if err := watch(l.ep, fd, number); err != nil {
		return err
	}
	l.waiting++
	send := func(p []byte) error { return sendAll(fd, p) }
	if l.work.Form == FLV {
		v.flv = newFLVSplit()
		v.flv.look = look
		return send([]byte("GET /" + l.work.App + "/" + l.work.Stream + ".flv HTTP/1.0\r\nHost: " + l.work.View + "\r\n\r\n"))
	}
	v.rtmp = &rtmpClient{split: newRTMPSplit(), work: &l.work, send: send}
	v.rtmp.split.look = look
	v.seat.replies = v.rtmp.note
	return send(hello())
}

// sendAll sends what a socket whose buffer is empty always takes.
func sendAll(fd int, p []byte) error {
	n, errno := rawio.Send(fd, p)
	if errno != 0 {
		return fmt.Errorf("relay: sending %d bytes: %w", len(p), errno)
	}
	if n < len(p) {
		return fmt.Errorf("relay: the socket takes %d of %d bytes", n, len(p))
	}
	return nil
}
