package aio_test

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// A collector is in WaitIO all the time and holds every completion against what
// was submitted.
type collector struct {
	h        *history
	worker   *worker // to submit in answer to completions
	batches  int
	reads    uint64
	writes   uint64
	in, out  uint64 // bytes
	results  []aio.OpResult
	images   []aio.OpResult // of results, as they came
	borrowed []loanedBytes
	kept     []keptBuf
	grave    []buried
}

// loanedBytes are memory of the watcher, and what was in it.
type loanedBytes struct {
	now, then []byte
	of        *task
}

// A keptBuf is a retained Buf and where its bytes are from.
type keptBuf struct {
	buf  mem.Buf
	then []byte
	of   *task
}

// buried is an own buffer that has been handed back.
type buried struct {
	buf []byte
	of  *task
}

const (
	mostKeptBufs = 24
	mostBuried   = 400
)

// run collects until the watcher is closed. It closes h.collected then.
func (c *collector) run() {
	h := c.h
	defer close(h.collected)
	for {
		c.checkLoan()
		results, err := h.watcher.WaitIO()
		c.results = results
		c.images = append(c.images[:0], results...)
		if len(results) == 0 && err == nil {
			h.errorf("WaitIO returned nothing")
		}
		if err == nil {
			c.batches++
		}
		for i := range results {
			c.complete(&results[i], err == nil)
			// A Buf is moved out of a result, so that the image has no copy of it.
			c.images[i].Buf, results[i].Buf = mem.Buf{}, mem.Buf{}
		}
		h.wake()
		switch {
		case err == nil:
		case err != aio.ErrWatcherClosed:
			h.errorf("WaitIO: %v", err)
			return
		case !h.closing.Load():
			h.errorf("WaitIO: %v, and nobody closed it", err)
			return
		default:
			c.checkLoan()
			c.finish()
			return
		}
	}
}

// checkLoan looks for the last time at what the next WaitIO takes back.
func (c *collector) checkLoan() {
	for i := range c.borrowed {
		if b := &c.borrowed[i]; !bytes.Equal(b.now, b.then) {
			c.h.errorf("%v: its bytes changed before the next WaitIO", b.of)
		}
	}
	c.borrowed = c.borrowed[:0]
	for i := range c.results {
		r, was := &c.results[i], &c.images[i]
		if r.Context != was.Context || r.Conn != was.Conn || r.Size != was.Size || r.Error != was.Error || len(r.Buffer) != len(was.Buffer) {
			c.h.errorf("result %d of %d changed before the next WaitIO", i, len(c.results))
		}
	}
}

func (c *collector) complete(r *aio.OpResult, live bool) {
	h := c.h
	k, ok := r.Context.(*task)
	if !ok {
		h.errorf("a completion with context %v", r.Context)
		return
	}
	if !k.state.CompareAndSwap(statePending, stateComplete) {
		h.errorf("%v: completed again, or though it was refused (state %d)", k, k.state.Load())
		return
	}
	l := k.link
	k.err = r.Error
	if r.Conn != l.server {
		h.errorf("%v: completed with another connection", k)
	}
	if want := map[bool]aio.OpType{false: aio.OpRead, true: aio.OpWrite}[k.kind.writes()]; r.Operation != want {
		h.errorf("%v: completed as %v", k, r.Operation)
	}
	if r.Error != nil && !k.mayFail(r.Error) {
		h.errorf("%v: completed with %v (%T)", k, r.Error, r.Error)
	}
	if r.Error == aio.ErrQueueFull {
		l.closed = true
	}
	c.checkOrder(k)
	if k.kind.writes() {
		c.written(k, r)
	} else {
		c.read(k, r)
	}
	l.finish(k)
	if live {
		c.answer(k)
	}
}

// checkOrder sees that what one worker has submitted completes in that order,
// but for deadlines and contexts.
func (c *collector) checkOrder(k *task) {
	if k.err == aio.ErrDeadline || k.err == errCancelled {
		return
	}
	way := 0
	if k.kind.writes() {
		way = 1
	}
	latest := &k.link.latest[way][k.worker]
	if k.seq <= *latest {
		c.h.errorf("%v: completed after %d", k, *latest)
	}
	*latest = max(*latest, k.seq)
}

func (c *collector) read(k *task, r *aio.OpResult) {
	h, l := c.h, k.link
	c.reads++
	c.in += uint64(r.Size)
	p := r.Buffer
	switch k.kind {
	case readOwn, readWhole:
		c.takeBack(k, r)
		if r.Size > len(k.buf) || k.kind == readWhole && r.Error == nil && r.Size != len(k.buf) {
			h.errorf("%v: %d bytes, %v", k, r.Size, r.Error)
			return
		}
		p = k.buf[:r.Size]
		if i := flooded(k.buf[r.Size:], blankPage); i >= 0 {
			h.errorf("%v: byte %d was written, of %d read", k, r.Size+i, r.Size)
		}
	case readNil:
		if !r.IsSwapBuffer && r.Size > 0 || len(p) != r.Size || r.Size > h.bufferSize() {
			h.errorf("%v: %d bytes in a buffer of %d, of the watcher: %v", k, r.Size, len(p), r.IsSwapBuffer)
			return
		}
		if cap(p) != len(p) {
			h.errorf("%v: %d bytes with room for %d: append would write what is lent to others", k, len(p), cap(p))
		}
		if r.Size > 0 {
			c.borrowed = append(c.borrowed, loanedBytes{p, bytes.Clone(p), k})
		}
	case readCounted:
		if r.IsSwapBuffer || r.Buf.Valid() != (r.Size > 0) || len(p) != r.Size || k.most > 0 && r.Size > k.most {
			h.errorf("%v: %d bytes, at most %d, Buf %v, Buffer of %d", k, r.Size, k.most, r.Buf.Valid(), len(p))
			return
		}
		if r.Size > 0 {
			b := r.Buf.Bytes()
			if len(b) != len(p) || &b[0] != &p[0] {
				h.errorf("%v: Buffer is not a view of Buf", k)
			}
			c.kept = append(c.kept, keptBuf{r.Buf, bytes.Clone(b), k})
		}
	}
	if r.Error == nil && r.Size == 0 {
		h.errorf("%v: completed with nothing and no error", k)
	}
	if l.ended != nil && r.Size > 0 {
		h.errorf("%v: %d bytes after %v", k, r.Size, l.ended)
	}
	if i := upstream(l.id).differs(p, l.received); i >= 0 {
		h.errorf("%v: byte %d of %d, place %d of the stream, is %#x", k, i, len(p), l.received+i, p[i])
	}
	l.received += r.Size
	if r.Error == io.EOF && !l.gone.Load() && int64(l.received) != l.sent.Load() {
		h.errorf("%v: end of the stream after %d bytes, %d were sent", k, l.received, l.sent.Load())
	}
	switch {
	case r.Error == nil, r.Error == aio.ErrDeadline, r.Error == errCancelled, errors.Is(r.Error, mem.ErrBudget):
	default:
		l.ended = r.Error
	}
	if k.kind == readOwn || k.kind == readWhole {
		c.bury(k)
	}
}

func (c *collector) written(k *task, r *aio.OpResult) {
	h := c.h
	c.writes++
	c.out += uint64(r.Size)
	k.size = r.Size
	whole := r.Size == len(k.content)
	// Std learns of a Free or a Close after the fact: what was pending fails then,
	// though the last byte may have gone out just before.
	excused := h.driver == aio.Std && k.link.doomed()
	if r.Size < 0 || r.Size > len(k.content) || r.Error == nil && !whole || r.Error != nil && whole && !excused {
		h.errorf("%v: %d bytes went out, with %v", k, r.Size, r.Error)
		k.size = max(0, min(r.Size, len(k.content)))
	}
	if k.kind != writeOwn {
		if r.Buffer != nil || r.IsSwapBuffer || r.Buf.Valid() {
			h.errorf("%v: completed with a buffer", k)
		}
		return
	}
	c.takeBack(k, r)
	if !bytes.Equal(k.buf, k.content) {
		h.errorf("%v: the watcher has changed the buffer", k)
	}
	c.bury(k)
}

// takeBack sees that the own buffer of k has come back.
func (c *collector) takeBack(k *task, r *aio.OpResult) {
	if r.IsSwapBuffer || r.Buf.Valid() || len(r.Buffer) != len(k.buf) || &r.Buffer[0] != &k.buf[0] {
		c.h.errorf("%v: another buffer came back, of %d bytes, of the watcher: %v", k, len(r.Buffer), r.IsSwapBuffer)
	}
}

// bury poisons the own buffer of k: nothing may write to it or send it any more.
func (c *collector) bury(k *task) {
	spread(k.buf, spentPage)
	c.grave = append(c.grave, buried{k.buf, k})
	if len(c.grave) > mostBuried {
		c.exhume(&c.grave[0])
		c.grave = slices.Delete(c.grave, 0, 1)
	}
}

func (c *collector) exhume(b *buried) {
	if i := flooded(b.buf, spentPage); i >= 0 {
		c.h.errorf("%v: byte %d of its buffer was written after the completion", b.of, i)
	}
}

// release ends the keeping of a Buf.
func (c *collector) release(i int) mem.Buf {
	k := &c.kept[i]
	if !bytes.Equal(k.buf.Bytes(), k.then) {
		c.h.errorf("%v: a retained Buf has changed", k.of)
	}
	b := k.buf
	c.kept = slices.Delete(c.kept, i, i+1)
	return b
}

func (c *collector) finish() {
	for len(c.kept) > 0 {
		b := c.release(0)
		b.Release()
	}
	for i := range c.grave {
		c.exhume(&c.grave[i])
	}
	if results, err := c.h.watcher.WaitIO(); len(results) != 0 || err != aio.ErrWatcherClosed {
		c.h.errorf("WaitIO after the end: %d results, %v", len(results), err)
	}
}
