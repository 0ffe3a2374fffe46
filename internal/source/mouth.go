package source

import (
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// Mouth takes slices from a channel.
type Mouth struct {
	C    chan []byte
	done chan struct{}
	over atomic.Bool
}

// The errors of Mouth.
var (
	ErrOver    = errors.New("source: the reader has ended")
	ErrTimeout = errors.New("source: nothing came in time")
	ErrStopped = errors.New("source: stopped")
)

// NewMouth returns a Mouth with a channel in which n slices may wait.
func NewMouth(n int) *Mouth {
	return &Mouth{C: make(chan []byte, n), done: make(chan struct{})}
}

// Next returns the next slice that is not empty, transferred. It waits until
// stop is closed (ErrStopped), until Close (ErrOver) or, if timeout is not 0,
// for so long (ErrTimeout). A channel that was closed is io.EOF.
func (s *Mouth) Next(stop <-chan struct{}, timeout time.Duration) ([]byte, error) {
	var expired <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		expired = t.C
	}
	for {
		select {
		case p, ok := <-s.C:
			if !ok {
				return nil, io.EOF
			}
			if len(p) > 0 {
				return p, nil
			}
		case <-s.done:
			return nil, ErrOver
		case <-stop:
			return nil, ErrStopped
		case <-expired:
			return nil, ErrTimeout
		}
	}
}

// Close makes Send and Next return ErrOver.
func (s *Mouth) Close() {
	if s.over.CompareAndSwap(false, true) {
		close(s.done)
	}
}

// Send puts p, transferred, into the channel. It waits for room and may be
// called by any goroutine.
func (s *Mouth) Send(p []byte) error {
	if s.over.Load() {
		return ErrOver
	}
	select {
	case s.C <- p:
		return nil
	case <-s.done:
		return ErrOver
	}
}
