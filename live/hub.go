package live

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// HubOptions configure a Hub.
type HubOptions struct {
	// Stream holds for every stream of the hub.
	Stream StreamOptions
	// Adjust, if it is not nil, is called when a stream begins, with its name and a copy
	// of Stream, which it may change for this one: what bounds its ring, and Grace. It
	// must not wait, nor use the hub.
	Adjust func(name string, o *StreamOptions)
	// Memory bounds what all rings hold together, in bytes: from half of it on
	// each keeps an equal part at most, but 256 KiB in any case, and a new viewer may
	// have to wait for a key frame. Where the newest frames alone are too much, publishers
	// whose frame is above that part are ended with ErrOverfull, that of the largest first.
	// 0 is no bound.
	Memory int64
}

// expected is a stream that goroutines wait for in Hub.Wait.
type expected struct {
	waiters int
	came    chan struct{} // closed when the stream comes, or the hub is closed
	stream  *Stream       // that came, if one did
}

// A Hub knows streams by name.
type Hub struct {
	options StreamOptions
	adjust  func(string, *StreamOptions) // nil: none
	account account

	relieving sync.Mutex // before mu

	mu      sync.Mutex
	streams map[string]*Stream
	waiting map[string]*expected
	awaited []*Stream // that may have reservations, also when they are over
	over    []*Stream // whose viewers may not have got all that is left
	// overMost is the length of over that has those looked for which hold nothing.
	overMost int
	closed   bool
}

// NewHub returns a hub without streams.
func NewHub(o HubOptions) *Hub {
	if o.Memory < 0 {
		panic(fmt.Sprintf("live: a Hub with %d bytes of memory", o.Memory))
	}
	h := &Hub{
		options: o.Stream.withDefaults(),
		adjust:  o.Adjust,
		account: account{most: o.Memory},
		streams: make(map[string]*Stream),
		waiting: make(map[string]*expected),
	}
	h.account.relieve = h.relieve
	return h
}

func (h *Hub) made() {
	if h.streams == nil {
		panic("live: Hub that NewHub has not made")
	}
}

// Publish makes the caller the publisher of a stream. The stream begins or, within
// its grace period, goes on. Publish returns ErrBusy when the stream has another
// publisher and o.TakeOver is not set, and ErrClosed after Close. It panics for Standby in a
// stream with Raw or Packets set.
func (h *Hub) Publish(name string, o PublishOptions) (*Publisher, error) {
	h.made()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	s := h.streams[name]
	if s != nil {
		p, err := s.publisher(o)
		if err == nil || err == ErrBusy {
			return p, err
		}
		// It has ended a moment ago and is about to be forgotten.
	}
	options := h.options
	if h.adjust != nil {
		h.adjust(name, &options)
		options = options.withDefaults()
	}
	s = newStream(name, options, &h.account, h.forget)
	p, err := s.publisher(o)
	if err != nil {
		return nil, fmt.Errorf("live: new stream %q: %w", name, err)
	}
	h.streams[name] = s
	if e := h.waiting[name]; e != nil {
		delete(h.waiting, name)
		s.expect(e.waiters)
		h.awaited = append(stillAwaited(h.awaited), s)
		e.stream = s
		close(e.came)
	}
	return p, nil
}

// stillAwaited drops those whose reservations have ended by now.
func stillAwaited(list []*Stream) []*Stream {
	return slices.DeleteFunc(list, func(s *Stream) bool { return time.Since(s.begun) > reservationTime })
}

// Stream returns the stream of that name, if there is one.
func (h *Hub) Stream(name string) (*Stream, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.streams[name]
	return s, ok
}

// Wait returns the stream of that name as soon as there is one. A caller that had
// to wait and at once adds a viewer with FromStart gets the whole stream, however
// short or fast it is. Wait returns the context's cause when the context ends
// first, and ErrClosed after Close.
func (h *Hub) Wait(ctx context.Context, name string) (*Stream, error) {
	h.made()
	for {
		h.mu.Lock()
		if s, ok := h.streams[name]; ok {
			h.mu.Unlock()
			return s, nil
		}
		if h.closed {
			h.mu.Unlock()
			return nil, ErrClosed
		}
		e := h.waiting[name]
		if e == nil {
			e = &expected{came: make(chan struct{})}
			h.waiting[name] = e
		}
		e.waiters++
		h.mu.Unlock()
		select {
		case <-e.came:
			if e.stream != nil { // be it over by now
				return e.stream, nil
			}
		case <-ctx.Done():
			h.giveUp(name, e)
			return nil, context.Cause(ctx)
		}
	}
}

// giveUp removes one waiter, and the name with the last one.
func (h *Hub) giveUp(name string, e *expected) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.waiters--; e.waiters == 0 && h.waiting[name] == e {
		delete(h.waiting, name)
	}
}

// Streams returns the streams that there are, in no order.
func (h *Hub) Streams() []*Stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*Stream, 0, len(h.streams))
	for _, s := range h.streams {
		list = append(list, s)
	}
	return list
}

// Close ends all streams at once: publishers get ErrClosed, viewers what is
// left. The hub takes no more.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	list := make([]*Stream, 0, len(h.streams))
	for _, s := range h.streams {
		list = append(list, s)
	}
	for name, e := range h.waiting {
		delete(h.waiting, name)
		close(e.came)
	}
	awaited := h.awaited
	h.awaited = nil
	h.mu.Unlock()
	for _, s := range awaited {
		s.unexpect()
	}
	for _, s := range list {
		s.interrupt()
		s.finish()
	}
}

// forget is called by a stream that has ended.
func (h *Hub) forget(s *Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams[s.name] == s {
		delete(h.streams, s.name)
	}
	if h.over = append(h.over, s); len(h.over) >= h.overMost {
		h.over = stillHeld(h.over)
		h.overMost = 2*len(h.over) + 16 // so that each is looked at a few times, and not once for each that ends
	}
}

// stillHeld drops streams that are over and hold nothing more.
func stillHeld(list []*Stream) []*Stream {
	return slices.DeleteFunc(list, func(s *Stream) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.ring.memory() == 0
	})
}

// Held returns how many bytes of memory the streams' rings keep, and those of publishers that
// wait.
func (h *Hub) Held() int64 { return h.account.held.Load() }

// Rings returns how many rings share HubOptions.Memory: one for each stream, also in its grace
// period, and for each publisher that waits.
func (h *Hub) Rings() int { return int(h.account.rings.Load()) }

// Trim drops the frames that streams may not keep any more, also of streams without
// new frames. Call it from time to time: a stream with new frames is trimmed with each
// of them.
func (h *Hub) Trim() {
	h.mu.Lock()
	h.awaited, h.over = stillAwaited(h.awaited), stillHeld(h.over)
	h.mu.Unlock()
	for _, s := range h.Streams() {
		s.mu.Lock()
		s.trim(s.clock())
		s.mu.Unlock()
	}
	h.relieve()
}
