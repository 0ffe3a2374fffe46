package session

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// ErrMoved: another process goes on with the session.
var ErrMoved = errors.New("another process goes on with it")

// ErrNotStill: a session did not stand still in time.
var ErrNotStill = errors.New("a session does not stand still")

// A Standstill makes a goroutine that serves a connection stand still between two reads.
// The goroutine asks Asked before each read, and calls Stand then; another interrupts its
// read after Ask. The zero value is ready.
type Standstill struct {
	now  atomic.Pointer[standing]
	mu   sync.Mutex
	over bool // the goroutine has ended
}

type standing struct {
	still   chan error // what came of it
	verdict chan bool  // whether the session was given away
}

// Ask makes Asked true until Answer.
func (s *Standstill) Ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &standing{make(chan error, 1), make(chan bool, 1)}
	if s.over {
		n.still <- ErrMoved
	}
	s.now.Store(n)
}

// Asked reports whether the goroutine should Stand.
func (s *Standstill) Asked() bool { return s.now.Load() != nil }

// Stand calls prepare, waits for the answer, and reports whether the session was given
// away. Without Ask it returns at once.
func (s *Standstill) Stand(prepare func() error) (moved bool) {
	n := s.now.Load()
	if n == nil {
		return false
	}
	n.still <- prepare()
	return <-n.verdict
}

// End says that the goroutine does not Stand any more.
func (s *Standstill) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if n := s.now.Load(); n != nil {
		select {
		case n.still <- ErrMoved:
		default:
		}
	}
}

// Await waits, after Ask, until the goroutine stands still, and returns the error of its
// preparation; ErrMoved when it has ended.
func (s *Standstill) Await(ctx context.Context) error {
	select {
	case err := <-s.now.Load().still:
		return err
	case <-ctx.Done():
		return ErrNotStill
	}
}

// Answer makes the goroutine go on, or end because the session was given away.
func (s *Standstill) Answer(moved bool) {
	if n := s.now.Swap(nil); n != nil {
		n.verdict <- moved
	}
}
