package sluice

import (
	"io"
	"sync/atomic"
	"time"
)

// mouthSource takes slices from a channel.
type mouthSource struct {
	mouth chan []byte
	done  chan struct{}
	over  atomic.Bool
}

// NewBufReaderChan returns a reader of the slices that another goroutine
// sends to Mouth, or passes to Feed; n of them may wait in the channel. Slices
// are transferred: they are viewed where they are, and Bufs read from them
// keep them alive. Closing Mouth ends the stream with io.EOF; only the feeder
// may do that.
func NewBufReaderChan(n int) *BufReader {
	b := new(BufReader)
	b.ResetChan(n)
	return b
}

// ResetChan is Reset to a reader as NewBufReaderChan makes it, with a channel
// of its own.
func (b *BufReader) ResetChan(n int) {
	s := &mouthSource{mouth: make(chan []byte, n), done: make(chan struct{})}
	b.start(s)
	b.Mouth = s.mouth
	b.feed.Store(&feed{mouth: s})
}

func (s *mouthSource) queues() {}

func (s *mouthSource) fetch(b *BufReader) error {
	if b.r == b.w && b.mark < 0 {
		b.dropBlock()
	}
	var cancel <-chan struct{}
	var expired <-chan time.Time
	if x := b.x; x != nil {
		if x.ctx != nil {
			cancel = x.ctx.Done()
		}
		if x.timeout > 0 {
			t := time.NewTimer(x.timeout)
			defer t.Stop()
			expired = t.C
		}
	}
	for {
		select {
		case p, ok := <-s.mouth:
			if !ok {
				return io.EOF
			}
			if len(p) > 0 {
				b.enqueueBytes(p)
				return nil
			}
		case <-cancel:
			return b.x.ctxErr()
		case <-expired:
			return errTimeout
		}
	}
}

func (s *mouthSource) reader() io.Reader { return nil }

func (s *mouthSource) close() {
	if s.over.CompareAndSwap(false, true) {
		close(s.done)
	}
}

func (s *mouthSource) send(p []byte) error {
	if s.over.Load() {
		return ErrClosed
	}
	select {
	case s.mouth <- p:
		return nil
	case <-s.done:
		return ErrClosed
	}
}
