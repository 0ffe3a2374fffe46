package live

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/flv"
)

// publisher adds a new publisher, which becomes the current one.
func (s *Stream) publisher(o PublishOptions) (*Publisher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end.over {
		return nil, ErrClosed
	}
	if o.Standby && s.options.bare() {
		panic("live: Hub.Publish with Standby for a stream of bare payloads")
	}
	p := &Publisher{s: s, name: o.Name, standby: o.Standby, yields: o.Yields, active: o.Active, since: time.Now(), done: make(chan struct{})}
	if o.Standby {
		if s.standbys.numbers.epoch != o.Epoch {
			s.standbys.numbers = numbers{epoch: o.Epoch}
		}
		if s.standbys.held = o.Held; s.now != nil || o.Held || len(s.standbys.waiting) > 0 {
			s.wait(p, new(headers))
			return p, nil
		}
	} else {
		p.own.epoch = o.Epoch
	}
	if s.now != nil {
		if !o.TakeOver {
			return nil, ErrBusy
		}
		s.now.finish(ErrTakenOver)
	}
	s.begin(p)
	s.standbys.fresh = s.clock()
	return p, nil
}

// Publisher returns who publishes now, or nil.
func (s *Stream) Publisher() *Publisher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Publish appends a frame; its payload is transferred, also when it fails. A large
// payload stays in its memory for as long as the stream keeps the frame.
//
// While the publisher waits (PublishOptions.Standby), frames are
// only kept for the moment when it begins.
//
// It blocks only while the publisher is ahead of real time and viewers are behind:
// until they, or real time, have caught up. It returns ErrTakenOver, ErrOverfull or
// ErrClosed when the stream is no longer the publisher's, and ErrFrame for a frame that no
// form can carry. It has one caller at a time.
func (p *Publisher) Publish(f Frame) error {
	_, err := p.publish(f, true)
	return err
}

// TryPublish is Publish for an event loop. It reports false where Publish would block, and
// while the publisher waits: then it has done nothing, and the payload is still the
// caller's. With an error it reports true: the payload is transferred as with Publish.
func (p *Publisher) TryPublish(f Frame) (ok bool, err error) { return p.publish(f, false) }

func (p *Publisher) publish(f Frame, block bool) (ok bool, err error) {
	after, err := p.s.publish(p, f, block)
	if err == errMayBlock {
		return false, nil
	}
	f.Payload.Release()
	if after != nil {
		after()
	}
	return true, err
}

// errMayBlock is the error of a frame that is not published because that may take time.
var errMayBlock = errors.New("live: publishing may take time")

// publish appends a frame of p's, which is borrowed until it returns. What it returns has
// to be called, unless it is nil. Unless it may block, errMayBlock says that it may.
func (s *Stream) publish(p *Publisher, f Frame, block bool) (after func(), err error) {
	n := f.Payload.Len()
	if n > s.options.MaxFrame {
		return nil, fmt.Errorf("%w: %d bytes in one, at most %d", ErrFrame, n, s.options.MaxFrame)
	}
	if !s.options.Raw && f.Type != flv.TagAudio && f.Type != flv.TagVideo && f.Type != flv.TagScript {
		return nil, fmt.Errorf("%w: %v is neither audio nor video nor script data", ErrFrame, f.Type)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.warm != nil && !block {
		return nil, errMayBlock // what is called when it begins may take time
	}
	if p.warm != nil {
		return s.publishWaiting(p, f), nil
	}
	if s.now != p {
		return nil, p.err
	}
	k, t := kind(0), track(0)
	switch {
	case s.options.Packets:
		k = s.ring.classifyPacket(f.Type, f.Key)
	case !s.options.Raw:
		k, t = s.ring.classify(f.Type, f.Payload.Bytes())
	}
	if s.end.atKey && (k&isKey != 0 || !s.ring.hasVideo) {
		return s.finish, ErrClosed
	}
	now, at := s.clock(), f.Time+s.times.own(k)
	fast := s.watch(s.tooFast(at, k, now))
	if fast && !block && !s.mayGoOn(at) {
		s.pace.held = true
		return nil, errMayBlock
	}
	if fast && block && !s.slow(p, at) {
		if p.warm != nil { // since then
			return s.publishWaiting(p, f), nil
		}
		return nil, p.err
	}
	if fast {
		now = s.clock() // it may have waited
	}
	s.store(p, f, k, t, now)
	s.wakeAll(false)
	if s.overfull() {
		return s.account.relieve, nil
	}
	return nil, nil
}

// Resume says that the times of the next frames have another origin, as after a new
// connection to the same source. The viewers' time goes on without a jump, even if
// the new times are close to the old ones. Call it from Publish's goroutine.
func (p *Publisher) Resume() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if p.s.now == p {
		p.s.times.resume()
		p.s.pace = pace{}
	}
}

// Close ends the publication. The stream waits for a publisher for its grace
// period, then it is over. A second Close does nothing.
func (p *Publisher) Close() {
	p.finish(ErrClosed)
	p.s.leave(p)
}
