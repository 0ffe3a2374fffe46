package sluice

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/internal/source"
)

// extra is what most readers do not use.
type extra struct {
	limits  limits
	timeout time.Duration
	ctx     context.Context
	stop    func() // ends the watch over ctx
	halt    *halt  // once the reader has waited for memory
	beside  int    // capacity in bytes that the reader's user holds, see holdBeside
}

func (x *extra) endContext() {
	if x.stop != nil {
		x.stop()
	}
	x.ctx, x.stop = nil, nil
}

// ctxErr is the error of a read that the context ended.
func (x *extra) ctxErr() error { return &Error{op: "read", Err: context.Cause(x.ctx)} }

// halt is what ends a wait for memory.
type halt struct {
	reason chan error // takes the first reason to wait no longer
	watch  source.Watch
	batch  int64 // where in the stream the latest batch began
}

// halts returns what ends waits, made when there is none.
func (x *extra) halts() *halt {
	if x.halt == nil {
		x.halt = &halt{reason: make(chan error, 1)}
	}
	return x.halt
}

func (h *halt) because(err error) {
	select {
	case h.reason <- err:
	default:
	}
}
