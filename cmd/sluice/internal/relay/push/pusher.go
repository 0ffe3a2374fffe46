package push

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/rtmp"
)

// States of a push.
const (
	Connecting = "connecting"
	Live       = "live"
	Behind     = "behind"  // the target takes less than the stream has: frames are left out
	Waiting    = "waiting" // until the next attempt; Error says why
	Refused    = "refused" // the same, but the target was reached and does not take the stream
)

// Status is one stream on its way to one target.
type Status struct {
	ID      string    `json:"id,omitempty"` // of the target, when it was added while the server runs
	Stream  string    `json:"stream"`
	Target  string    `json:"target"` // without the name there
	State   string    `json:"state"`
	Since   time.Time `json:"since"` // of the state
	Bytes   int64     `json:"bytes"`
	Dropped int64     `json:"dropped"` // frames
	Tries   int       `json:"tries"`
	Error   string    `json:"error,omitempty"` // of the latest attempt, when that has failed
}

// Options configure a Pusher. Zero times are the defaults.
type Options struct {
	// Targets are those of the settings for a stream with this name; they may match it
	// or not. It is asked again by Refresh: what is the same pointer goes on. It must not
	// call the Pusher. nil: none.
	Targets func(stream string) []*Target
	// Streams are those that there are, for targets that come later.
	Streams func() []*live.Stream
	// Agent is the name and version of this server that a target over RTMP gets; nil: what encoders say.
	Agent func(*live.Stream) string
	// Itself reports whether this server takes calls by SRT at an address; nil: it does not.
	Itself           func(ctx context.Context, address string) bool
	Timeout          time.Duration // to connect, and for a write; 10 s
	Retry, RetryMost time.Duration // between attempts, at first and at most; 500 ms, 4 s
	RetryCodec       time.Duration // after a codec that the target does not take, unless the stream gets another; 30 s
	TLS              *tls.Config   // for rtmps; nil is the default
	Logger           *slog.Logger
	dial             func(ctx context.Context, address string) (net.Conn, error) // of tests; nil: TCP
}

// A Pusher pushes the streams of a server to targets.
type Pusher struct {
	options Options
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	added  []*Target // over Add
	number uint64    // of the newest of them
	on     map[key]*pushing
}

// pushing is one stream on its way to one target.
type pushing struct {
	pusher *Pusher
	stream *live.Stream
	target *Target
	name   string // the stream's name there, with its query
	stop   context.CancelFunc
	said   rtmp.Capabilities // what the target has said of enhanced RTMP; run's goroutine only
	plain  bool              // it was not asked for that; run's goroutine only
	bare   bool              // pictures without a sequence header were left out; run's goroutine only

	mu     sync.Mutex
	status Status
	retry  retry
	logged bool // that it is live, and no failure since
}

// retry is when a push is tried again.
type retry struct {
	pause time.Duration // before the next attempt; 0: none has failed
	next  time.Time     // of the next attempt; zero: at once
}

// key is what is pushed once at a time: two connections would take the place there from each other.
type key struct {
	stream *live.Stream
	place  string
}

// New returns a pusher without streams.
func New(o Options) *Pusher {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Retry, o.RetryMost = cmp.Or(o.Retry, 500*time.Millisecond), cmp.Or(o.RetryMost, 4*time.Second)
	o.RetryCodec = cmp.Or(o.RetryCodec, 30*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.dial == nil {
		o.dial = func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	}
	if o.Targets == nil {
		o.Targets = func(string) []*Target { return nil }
	}
	if o.Streams == nil {
		o.Streams = func() []*live.Stream { return nil }
	}
	p := &Pusher{options: o, on: map[key]*pushing{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// List returns what is pushed, by stream and target.
func (p *Pusher) List() []Status {
	p.mu.Lock()
	list := make([]Status, 0, len(p.on))
	for _, q := range p.on {
		list = append(list, q.now())
	}
	p.mu.Unlock()
	slices.SortFunc(list, func(a, b Status) int { return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Target, b.Target)) })
	return list
}

// Close waits until the streams that have ended are pushed to their ends, or ctx is
// done, and then ends all.
func (p *Pusher) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	over, err := waiting.Until(ctx, 0, p.running.Wait)
	p.stop()
	<-over
	return err
}

func (q *pushing) now() Status {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.status
}
