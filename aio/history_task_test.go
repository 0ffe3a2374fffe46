package aio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

type taskKind int

const (
	readOwn taskKind = iota
	readNil
	readWhole
	readCounted
	writeOwn
	writeCounted
	writeParts
	numTaskKinds
)

var taskNames = [numTaskKinds]string{"Read", "nil Read", "ReadFull", "ReadBuf", "Write", "WriteBuf", "WriteMemory"}

func (k taskKind) writes() bool { return k >= writeOwn }

// ending says how an operation may be ended early.
type ending int

const (
	endNever       ending = iota
	endPast               // a deadline that has passed at submission
	endSoon               // one that passes meanwhile
	endLater              // one that does not
	endDone               // a context that is done at submission
	endCancellable        // one that may be cancelled
)

const (
	statePending = iota
	stateComplete
	stateRefused
)

// A task is one submitted operation. It is its own context value.
type task struct {
	link     *link
	kind     taskKind
	worker   int
	seq      int // of this worker, link and direction
	buf      []byte
	most     int // ReadBuf
	content  []byte
	held     int     // memory in bytes that content may count as while it waits
	foreign  mem.Buf // WriteBuf: transferred, with the same content; else a copy is made
	size     int     // of content, what went out; the collector's
	deadline time.Time
	cancel   context.Context
	state    atomic.Int32
	drain    bool
	err      error // of the completion; the collector's
}

func (k *task) String() string {
	return fmt.Sprintf("%s %d/%d of link %d (%d bytes)", taskNames[k.kind], k.worker, k.seq, k.link.id, max(len(k.buf), len(k.content), k.most))
}

// What own buffers hold while no operation uses them.
const (
	blank = 0x5A // submitted to be read into
	spent = 0xA5 // handed back
)

var blankPage, spentPage = bytes.Repeat([]byte{blank}, 4096), bytes.Repeat([]byte{spent}, 4096)

// spread writes page over all of p. Loops over single bytes are what the race
// detector is slowest at.
func spread(p, page []byte) {
	for len(p) > 0 {
		p = p[copy(p, page):]
	}
}

// flooded returns the index of the first byte of p that flood did not leave
// there, or -1.
func flooded(p, page []byte) int {
	for done := 0; done < len(p); done += len(page) {
		part := p[done:min(done+len(page), len(p))]
		if bytes.Equal(part, page[:len(part)]) {
			continue
		}
		for i := range part {
			if part[i] != page[i] {
				return done + i
			}
		}
	}
	return -1
}

var errCancelled = errors.New("cancelled by the history")

// end gives k a deadline or a context.
func (h *history) end(k *task, how ending, delay time.Duration) {
	switch how {
	case endPast:
		k.deadline = time.Now().Add(-delay)
	case endSoon:
		k.deadline = time.Now().Add(delay)
	case endLater:
		k.deadline = time.Now().Add(longEnough)
	case endDone, endCancellable:
		ctx, stop := context.WithCancelCause(context.Background())
		k.cancel = ctx
		if how == endDone {
			stop(errCancelled)
			return
		}
		h.mu.Lock()
		h.stops = append(h.stops, stop)
		h.mu.Unlock()
	}
}

// submit submits k with size bytes, and says whether it was accepted.
func (l *link) submit(k *task, size, parts int) bool {
	if !k.kind.writes() {
		return l.submitRead(k, size)
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	k.content = make([]byte, size)
	downstream(l.id).fill(k.content, l.offset)
	if !l.submitWrite(k, parts) {
		return false
	}
	l.offset += size
	return true
}

// forward submits k, a WriteBuf of b, which is transferred.
func (l *link) forward(k *task, b mem.Buf) bool {
	l.writing.Lock()
	defer l.writing.Unlock()
	k.content, k.foreign = bytes.Clone(b.Bytes()), b
	return l.submitWrite(k, 1)
}

func (l *link) submitRead(k *task, size int) bool {
	w := l.h.watcher
	wasFreed := l.freed.Load()
	l.begin(k)
	var err error
	switch k.kind {
	case readOwn:
		k.buf = make([]byte, size)
		spread(k.buf, blankPage)
		if k.cancel != nil {
			err = w.ReadContext(k.cancel, k, l.server, k.buf)
		} else {
			err = w.ReadTimeout(k, l.server, k.buf, k.deadline)
		}
	case readNil:
		if k.cancel != nil {
			err = w.ReadContext(k.cancel, k, l.server, nil)
		} else {
			err = w.ReadTimeout(k, l.server, nil, k.deadline)
		}
	case readWhole:
		k.buf = make([]byte, size)
		spread(k.buf, blankPage)
		err = w.ReadFull(k, l.server, k.buf, k.deadline)
	case readCounted:
		k.most = size
		err = w.ReadBuf(k, l.server, size, k.deadline)
	}
	return l.accepted(k, err, wasFreed, 0, 0)
}

// submitWrite submits k.content as k says. Called with writing.
func (l *link) submitWrite(k *task, parts int) bool {
	w := l.h.watcher
	wasFreed := l.freed.Load()
	queued := int(l.queued.Load())
	held := int(l.held.Load())
	if k.held = len(k.content); k.kind != writeOwn {
		k.held = 2*len(k.content) + 256*(parts+1) // blocks are powers of two, from 256 B
	}
	l.begin(k)
	l.writes = append(l.writes, k)
	var err error
	switch k.kind {
	case writeOwn:
		k.buf = append([]byte(nil), k.content...)
		if k.cancel != nil {
			err = w.WriteContext(k.cancel, k, l.server, k.buf)
		} else {
			err = w.WriteTimeout(k, l.server, k.buf, k.deadline)
		}
	case writeCounted:
		b := k.foreign
		k.foreign = mem.Buf{}
		if !b.Valid() {
			b = l.h.counted(k.content)
		}
		err = w.WriteBuf(k, l.server, b, k.deadline)
	case writeParts:
		m := new(mem.Memory)
		for i, left := 0, k.content; len(left) > 0; i++ {
			n := min(len(left), 1+len(k.content)/parts+i%3)
			m.Append(l.h.counted(left[:n]))
			left = left[n:]
		}
		err = w.WriteMemory(k, l.server, m, k.deadline)
	}
	if !l.accepted(k, err, wasFreed, queued, held) {
		l.writes = l.writes[:len(l.writes)-1]
		return false
	}
	return true
}

// counted returns a copy of p in counted memory, retained.
func (h *history) counted(p []byte) mem.Buf {
	b := h.source.Get(len(p))
	copy(b.Bytes(), p)
	return b
}

// begin enters k in the books. The completion may come before the submission
// has returned.
func (l *link) begin(k *task) {
	l.tally.Add(1)
	if k.kind.writes() {
		l.queued.Add(int64(len(k.content)))
		l.held.Add(int64(k.held))
	} else {
		l.reads.Add(1)
	}
}

// accepted looks at what the submission of k returned. queued is what may have
// been in the queue before, and held the memory of that.
func (l *link) accepted(k *task, err error, wasFreed bool, queued, held int) bool {
	h := l.h
	if err == nil {
		if wasFreed {
			h.errorf("%v: accepted after Free", k)
		}
		h.accepted.Add(1)
		return true
	}
	if !k.state.CompareAndSwap(statePending, stateRefused) {
		h.errorf("%v: refused with %v and completed all the same", k, err)
		return false
	}
	l.finish(k)
	switch {
	case errors.Is(err, aio.ErrQueueFull):
		if h.options.QueueLimit == 0 || queued == 0 || held+k.held <= h.options.QueueLimit {
			h.errorf("%v: refused with %d bytes in the queue: %v", k, queued, err)
		}
		l.refused.Store(true)
	case err == aio.ErrConnClosed:
		if !l.freeing.Load() && !h.closesFull() {
			h.errorf("%v: %v, and nobody closed it", k, err)
		}
	case err == aio.ErrWatcherClosed && h.closing.Load():
	default:
		h.errorf("%v: submission returned %v", k, err)
	}
	if i := flooded(k.buf, blankPage); !k.kind.writes() && i >= 0 {
		h.errorf("%v: refused, and byte %d of the buffer was written", k, i)
	}
	return false
}

// finish takes k out of the books.
func (l *link) finish(k *task) {
	if k.kind.writes() {
		l.queued.Add(-int64(len(k.content)))
		l.held.Add(-int64(k.held))
	} else {
		l.reads.Add(-1)
	}
	l.tally.Add(-1)
}

// mayFail says whether err is what can have happened to k.
func (k *task) mayFail(err error) bool {
	l := k.link
	switch {
	case err == aio.ErrDeadline:
		return !k.deadline.IsZero() && !time.Now().Before(k.deadline)
	case err == errCancelled:
		return k.cancel != nil && k.cancel.Err() != nil
	case err == io.ErrClosedPipe:
		return l.freeing.Load()
	case err == aio.ErrWatcherClosed:
		return l.h.closing.Load()
	case err == aio.ErrQueueFull:
		return l.h.closesFull()
	case err == io.EOF:
		return !k.kind.writes() && (l.finished.Load() || l.gone.Load())
	case errors.Is(err, mem.ErrBudget):
		return k.kind == readCounted && l.h.budget > 0
	case errors.Is(err, aio.ErrDeadline) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, aio.ErrWatcherClosed) || errors.Is(err, aio.ErrQueueFull):
		return false // wrapped, and programs written for gaio compare with ==
	}
	return l.gone.Load()
}
