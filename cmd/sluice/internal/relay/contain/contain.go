// Package contain keeps a fault of this program, a panic, to the session or the output of one stream in which it
// comes about: that ends with an error, and the server goes on with all others.
//
// It is for work whose state belongs to what ends with it, and whose locks are released by defer. What such work held
// of pooled memory may be lost. In tests a panic stays one, so that they find it.
package contain

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"testing"
)

// ErrFault is matched by the error of work that panicked.
var ErrFault = errors.New("a fault of the server")

var (
	faults   atomic.Int64
	passesOn atomic.Bool // panics go on
)

func init() { passesOn.Store(testing.Testing()) }

// Run calls f and returns its error. When f panics, the error matches ErrFault, and the log has the stack.
func Run(log *slog.Logger, f func() error) (err error) {
	whole := false
	defer func() {
		if whole || passesOn.Load() {
			return
		}
		// After runtime.Goexit, which f does not call, there is nothing to recover.
		if fault := recover(); fault != nil {
			faults.Add(1)
			err = fmt.Errorf("%w: %v", ErrFault, fault)
			log.Error("a fault of the server, please report it: what it was in ends, and nothing else", "fault", fault, "stack", string(debug.Stack()))
		}
	}()
	err = f()
	whole = true
	return err
}

// Faults returns how many panics there were.
func Faults() int64 { return faults.Load() }

// InTest makes Run contain panics until the end of a test that has some.
func InTest(t interface{ Cleanup(f func()) }) {
	passesOn.Store(false)
	t.Cleanup(func() { passesOn.Store(true) })
}
