package std

import "github.com/sluice-go/sluice/aio/internal/op"

// holding is how much memory a write has as long as it waits, as QueueLimit counts it.
func (o *operation) holding() int {
	if o.held > 0 {
		return o.held
	}
	return o.total - o.n
}

// filled reports whether a read needs no more bytes.
func (o *operation) filled() bool {
	if o.Kind == op.ReadFull {
		return o.n == len(o.Buf)
	}
	return o.n > 0
}

// discard ends what the operation has outside the watcher. It runs functions of the
// program: mu is not held.
func (o *operation) discard() {
	if o.unwatch != nil {
		o.unwatch()
	}
	o.Release()
}

// stopTimer stops the timer of an operation that has left the queue.
func (o *operation) stopTimer() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}
