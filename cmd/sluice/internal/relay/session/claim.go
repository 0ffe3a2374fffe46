package session

import (
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/live"
)

// A Claim is what an admitted publisher's session has of its stream. The stream is its own
// from the beginning, unless it would replace another publisher: that one goes on until the
// first frame of this session, which may never come.
//
// Begin, Publish and Release have one caller at a time. The other methods are safe for
// concurrent use.
type Claim struct {
	host    *Host
	info    Info
	release func() // what the gate counted
	remove  func() // what publishAdmitted returned
	once    sync.Once
	p       atomic.Pointer[live.Publisher] // nil before the first frame, when there is another

	mu     sync.Mutex
	over   func(error)
	closed bool
}

// Begin returns the session's publisher. It is called with the first frame: it replaces the
// publisher of the stream, for which it may ask other servers. The Publisher is not to be
// closed but by Close.
func (x *Claim) Begin() (*live.Publisher, error) {
	if p := x.p.Load(); p != nil {
		return p, nil
	}
	h := x.host
	if h.Closing() || h.leaving.Load() >= NoPublishers {
		return nil, ErrClosing
	}
	p, remove, err := h.publishAdmitted(x.info)
	if err != nil {
		return nil, err
	}
	x.remove = remove
	x.mu.Lock()
	x.p.Store(p)
	closed, over := x.closed, x.over
	x.mu.Unlock()
	p.OnDone(over)
	if closed {
		p.Close()
	}
	return p, nil
}

// Publisher returns the session's publisher, nil before Begin when that replaces another.
func (x *Claim) Publisher() *live.Publisher { return x.p.Load() }

// Publish is Begin, and Publish of live.Publisher: f's payload is transferred, also when it fails.
func (x *Claim) Publish(f live.Frame) error {
	p, err := x.Begin()
	if err != nil {
		f.Payload.Release()
		return err
	}
	return p.Publish(f)
}

// OnDone is OnDone of live.Publisher.
func (x *Claim) OnDone(f func(error)) {
	x.mu.Lock()
	x.over = f
	closed := x.closed
	x.mu.Unlock()
	if p := x.p.Load(); p != nil {
		p.OnDone(f)
	} else if closed && f != nil {
		f(live.ErrClosed)
	}
}

// Err is Err of live.Publisher.
func (x *Claim) Err() error {
	if p := x.p.Load(); p != nil {
		return p.Err()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return live.ErrClosed
	}
	return nil
}

// Close ends the publication. It does not wait.
func (x *Claim) Close() {
	x.mu.Lock()
	p := x.p.Load()
	if p == nil && !x.closed && x.over != nil {
		x.over(live.ErrClosed)
	}
	x.closed = true
	x.mu.Unlock()
	if p != nil {
		p.Close()
	}
}

// Release closes the publication and releases what the gate counted. A second one does nothing.
func (x *Claim) Release() {
	x.once.Do(func() {
		x.Close()
		if x.remove != nil {
			x.remove()
		}
		x.release()
	})
}

// replaces reports whether a session that publishes a stream ends its publisher.
func (h *Host) replaces(info Info) bool {
	switch h.For(info.Stream).Takeover {
	case config.TakeoverReplace:
		st, ok := h.Hub.Stream(info.Stream)
		return h.Cluster != nil || ok && st.Publisher() != nil // another server may have it
	case config.TakeoverStandby:
		return false
	}
	id, known := h.identity(info)
	h.owners.mu.Lock()
	defer h.owners.mu.Unlock()
	return known && h.owners.has(h.Hub, info.Stream, id) || h.owners.lost(h.Hub, info.Stream, h.Times.Lost)
}
