package feed

import (
	"context"
	"fmt"
	"sync"

	"github.com/sluice-go/sluice/live"
)

// A Register has the feeds that are made at the moment, one for each key. V is what the
// protocol has for each.
type Register[K comparable, V any] struct {
	hub     *live.Hub
	room    func() error
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	last   uint64
	list   map[K]*Feed[K, V]
}

// A Feed is what is made of one stream.
type Feed[K comparable, V any] struct {
	Value V // what the maker's Begin returned

	register *Register[K, V]
	key      K
	stream   *live.Stream
	users    int   // under the lock of the register
	err      error // also
	end      context.CancelFunc
}

// A Maker makes a feed.
type Maker[K comparable, V any] struct {
	Protocol string // its name
	// Begin is called before the feed is known to any other user. It must not wait.
	Begin func(f *Feed[K, V]) V
	// Run makes what is published until ctx is done or the source is over, which is no
	// error, or it cannot go on.
	Run func(ctx context.Context, v V, from *live.Reader, to *live.Publisher) error
}

// New makes a Register. packets are the options of the streams of packets, of which the
// memory for all is bounded too. room returns an error when there is no memory for another feed.
func New[K comparable, V any](packets live.HubOptions, room func() error) *Register[K, V] {
	packets.Stream.Packets = true
	packets.Stream.MaxFrame = 1<<24 - 1 // a frame of media and the headers of its packets
	packets.Stream.Grace = 0
	return &Register[K, V]{hub: live.NewHub(packets), room: room, list: map[K]*Feed[K, V]{}}
}

// Hub returns the streams of packets.
func (x *Register[K, V]) Hub() *live.Hub { return x.hub }

// Use returns the feed of a key, which the caller releases; nil when there is none.
func (x *Register[K, V]) Use(key K) *Feed[K, V] {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.list[key]
	if f != nil {
		f.users++
	}
	return f
}

// Open returns the feed of a key, which the caller releases. m makes it for its first
// user, from source. An error is live.ErrClosed, that of room, or one of live.Hub.Publish.
func (x *Register[K, V]) Open(key K, source *live.Stream, m Maker[K, V]) (*Feed[K, V], error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, live.ErrClosed
	}
	if f := x.list[key]; f != nil {
		f.users++
		return f, nil
	}
	if err := x.room(); err != nil {
		return nil, err
	}
	r, err := source.NewReader(live.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	x.last++
	p, err := x.hub.Publish(fmt.Sprintf("%s#%d", source.Name(), x.last), live.PublishOptions{Name: m.Protocol})
	if err != nil {
		r.Close()
		return nil, err
	}
	f := &Feed[K, V]{register: x, key: key, stream: p.Stream(), users: 1}
	var ctx context.Context
	ctx, f.end = context.WithCancel(context.Background())
	f.Value = m.Begin(f)
	x.list[key] = f
	x.running.Go(func() {
		err := m.Run(ctx, f.Value, r, p)
		r.Close()
		x.forget(f, err)
		p.Close()
	})
	return f, nil
}

// Close ends all feeds and waits for them.
func (x *Register[K, V]) Close() {
	x.mu.Lock()
	x.closed = true
	for _, f := range x.list {
		f.end()
	}
	x.mu.Unlock()
	x.hub.Close()
	x.running.Wait()
}

// forget removes a feed that ends, so that the next viewer gets a new one.
func (x *Register[K, V]) forget(f *Feed[K, V], err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f.err = err
	if x.list[f.key] == f {
		delete(x.list, f.key)
	}
}

// Stream returns the stream of packets.
func (f *Feed[K, V]) Stream() *live.Stream { return f.stream }

// Err returns why the stream of packets is over, unless its source is.
func (f *Feed[K, V]) Err() error {
	f.register.mu.Lock()
	defer f.register.mu.Unlock()
	return f.err
}

// Release ends the use of a feed. It ends with its last user.
func (f *Feed[K, V]) Release() {
	x := f.register
	x.mu.Lock()
	f.users--
	over := f.users == 0
	if over && x.list[f.key] == f {
		delete(x.list, f.key)
	}
	x.mu.Unlock()
	if over {
		f.end()
	}
}
