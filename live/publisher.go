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
}

// A Publisher may append to its stream until it is closed or another publisher
// takes the stream over.
type Publisher struct {
	s     *Stream
	name  string
	since time.Time
	epoch uint64 // of the marks that its frames get; 0: none

	frames uint64 // that got one; under the stream's lock

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

// Done is closed when the stream is no longer p's.
func (p *Publisher) Done() <-chan struct{} { return p.done }

// Err returns why Done is closed: ErrTakenOver or ErrClosed. It is nil before.
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
