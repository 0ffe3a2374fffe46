package live

import (
	"sync"
	"time"
)

// PublishOptions say who publishes and how.
type PublishOptions struct {
	// Name of the publisher, for logs and figures: its address, say.
	Name string
	// TakeOver lets this publisher replace one that is there.
	TakeOver bool
	// Epoch is for streams with StreamOptions.Marks: frames that have no mark get
	// one with this epoch, unless it is 0.
	Epoch uint64
	// Standby lets this publisher wait while the stream has another: it takes the place
	// of one that ends, yields or is silent for StreamOptions.Silence, at its next key
	// frame, or with the frames since its newest one if they all came after the
	// latest of the other. TakeOver does not count then, and all with Standby have the
	// same Epoch, each stream its own. Not for StreamOptions.Raw and Packets.
	Standby bool
	// Held is what Stream.Hold says, for a publisher with Standby.
	Held bool
	// Yields lets publishers with Standby, unless they are held, take this one's place
	// while it is there.
	Yields bool
	// Active, if it is not nil, is called when viewers get what this publisher with
	// Standby sends after they did not, and when they do not any more, apart from
	// beginning and end of the publisher: by Publish and Hold, without a lock. Look at
	// Stream.Publisher for the latest state.
	Active func(on bool)
}

// A Publisher may append to its stream until it is closed or another publisher
// takes the stream over.
type Publisher struct {
	s     *Stream
	warm  *warm // nil: it does not wait; under the stream's lock
	name  string
	since time.Time

	standby, yields bool
	active          func(bool) // nil: none

	own numbers // of its frames, without standby; under the stream's lock

	mu   sync.Mutex
	done chan struct{}
	over func(error) // nil: none
	err  error       // why, once done is closed
}

// Stream returns the stream that p publishes.
func (p *Publisher) Stream() *Stream { return p.s }

// Name returns what PublishOptions said.
func (p *Publisher) Name() string { return p.name }

// Since returns when p began.
func (p *Publisher) Since() time.Time { return p.since }

// Standby reports what PublishOptions said.
func (p *Publisher) Standby() bool { return p.standby }

// Done is closed when the stream is no longer p's.
func (p *Publisher) Done() <-chan struct{} { return p.done }

// Err returns why Done is closed: ErrTakenOver, ErrOverfull or ErrClosed. It is nil before.
func (p *Publisher) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// OnDone makes f be called, with what Err returns, when the stream is no longer p's; at
// once if it is not. It saves a goroutine that waits for Done. f must not wait, nor call
// anything of this package. Each OnDone replaces the one before it; nil is none.
func (p *Publisher) OnDone(f func(error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = f
	if p.err != nil && f != nil {
		f(p.err)
	}
}

func (p *Publisher) notify(on bool) {
	if p.active != nil {
		p.active(on)
	}
}

func (p *Publisher) finish(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return
	}
	p.err = err
	close(p.done)
	if p.over != nil {
		p.over(err)
	}
}
