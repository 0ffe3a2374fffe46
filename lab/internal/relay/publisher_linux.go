package relay

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/lab/internal/rawio"
)

// A publisher sends the clip over and over, each frame when it is due.
type publisher struct {
	load   *load
	fd     int
	client rtmpClient
	out    []byte // messages, of which the first so many bytes are sent
	gone   int
	next   int           // the frame after those in out
	origin time.Duration // when the first frame was due
	due    time.Duration // when the next one is
	late   *lags         // nil if not measured
}

// openPublisher connects, waits until the server lets it publish, and sends
// what stands before the media.
func (l *load) openPublisher(to *unix.SockaddrInet4) (*publisher, error) {
	fd, err := connected(to)
	if err != nil {
		return nil, err
	}
	p := &publisher{load: l, fd: fd}
	p.client = rtmpClient{split: newRTMPSplit(), work: &l.work, publish: true, send: p.queue}
	if err := p.start(); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("relay: the publisher: %w", err)
	}
	p.origin = l.now()
	p.due = p.origin
	return p, nil
}

func (p *publisher) start() error {
	if err := watch(p.load.ep, p.fd, -1); err != nil {
		return err
	}
	if err := p.queue(hello()); err != nil {
		return err
	}
	for began := p.load.now(); !p.client.granted; {
		if p.load.now()-began > patience {
			return fmt.Errorf("no leave to publish for %v", patience)
		}
		if _, err := unix.EpollWait(p.load.ep, p.load.events, 100); err != nil && err != unix.EINTR {
			return err
		}
		if err := p.receive(); err != nil {
			return err
		}
	}
	for _, t := range p.load.show.clip.Head {
		payload := t.Payload
		if t.Kind == kindScript {
			payload = append(appendAMF(nil, "@setDataFrame"), payload...)
		}
		if err := p.queue(appendMessage(nil, t.Kind, streamID, 0, payload, outChunk)); err != nil {
			return err
		}
	}
	return nil
}

// queue sends b behind what waits.
func (p *publisher) queue(b []byte) error {
	p.out = append(p.out, b...)
	return p.push()
}

// push sends as much of what waits as the socket takes.
func (p *publisher) push() error {
	for p.gone < len(p.out) {
		n, errno := rawio.Send(p.fd, p.out[p.gone:])
		if errno == unix.EAGAIN {
			return nil
		}
		if errno != 0 {
			return fmt.Errorf("sending: %w", errno)
		}
		p.gone += n
	}
	p.out, p.gone = p.out[:0], 0
	return nil
}

// advance sends what is due and returns how long it is until there is more to
// send.
func (p *publisher) advance() (time.Duration, error) {
	if p.gone < len(p.out) {
		if err := p.push(); err != nil {
			return 0, err
		}
	}
	for sent := 0; ; {
		now := p.load.now()
		switch {
		case sent > atOnce:
			return 0, nil
		case now < p.due:
			return p.due - now, nil
		case p.gone < len(p.out):
			return time.Millisecond, nil
		}
		if err := p.one(now); err != nil {
			return 0, err
		}
		sent += len(p.out)
		if err := p.push(); err != nil {
			return 0, err
		}
	}
}

// one puts the next frame into out.
func (p *publisher) one(now time.Duration) error {
	s := &p.load.show
	t, at := s.clip.at(p.next)
	if at >= 1<<31 {
		return fmt.Errorf("relay: a publisher that sends for %v of media", time.Duration(at)*time.Millisecond)
	}
	p.out = appendMessage(p.out, t.Kind, streamID, at, t.Payload, outChunk)
	which := trackOf(t.Kind)
	s.sent[which] = append(s.sent[which], now)
	s.n++
	p.next++
	if p.late != nil {
		p.late.add(now - p.due)
	}
	_, at = s.clip.at(p.next)
	p.due = p.origin + time.Duration(at)*time.Millisecond
	return nil
}

// receive takes what the server says to the publisher.
func (p *publisher) receive() error {
	n, errno := rawio.Recv(p.fd, p.load.buf)
	switch {
	case errno == unix.EAGAIN:
		return nil
	case errno != 0:
		return fmt.Errorf("receiving: %w", errno)
	case n == 0:
		return fmt.Errorf("the server ended the connection: %w", io.ErrUnexpectedEOF)
	}
	return p.client.feed(p.load.buf[:n], p)
}

// A publisher is the sink of what the server sends to it, which has no media.

func (p *publisher) started(uint8, uint32, int, byte, byte) error {
	return fmt.Errorf("%w: media to a publisher", ErrStream)
}
func (p *publisher) ended() error                           { return nil }
func (p *publisher) passed([]byte) error                    { return nil }
func (p *publisher) noted(kind uint8, payload []byte) error { return p.client.note(kind, payload) }
