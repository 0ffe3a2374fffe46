// Package waiting waits for a time, or for goroutines, and no longer than until something else
// has ended: a context, a stream, a connection.
package waiting

import (
	"context"
	"time"
)

// For waits for d, not at all for one that is not positive, and reports whether it has passed: false
// when end is closed, or has a value, which is taken.
func For(d time.Duration, end <-chan struct{}) bool { return ForEither(d, end, nil) }

// ForEither is For with two ends, either of which may be nil.
func ForEither(d time.Duration, end, other <-chan struct{}) bool {
	if d <= 0 {
		select {
		case <-end:
			return false
		case <-other:
			return false
		default:
			return true
		}
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-end:
	case <-other:
	}
	return false
}

// Until calls wait, which waits for goroutines, on one of its own, and returns when that has returned, or
// with ctx's error when ctx is done, after least at the earliest. over is closed when wait has returned.
func Until(ctx context.Context, least time.Duration, wait func()) (over <-chan struct{}, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	if For(least, done) {
		select {
		case <-done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return done, err
}

// With returns a context that is done with ctx, and when end is closed. The caller calls cancel.
func With(ctx context.Context, end <-chan struct{}) (joined context.Context, cancel context.CancelFunc) {
	joined, cancel = context.WithCancel(ctx)
	go func() {
		select {
		case <-end:
			cancel()
		case <-joined.Done():
		}
	}()
	return joined, cancel
}
