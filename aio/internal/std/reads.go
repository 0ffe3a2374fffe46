package std

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// Sizes in bytes of the memory that a read into the watcher's own waits with. It is the
// direction's and of no budget: no bytes have come. Like the goroutine that waits it is
// small.
const (
	// leastRoom is what a quiet connection holds.
	leastRoom = 512
	// mostHeld is what a connection that may not be interrupted holds at most, after it
	// has filled that much at once.
	mostHeld = 4 << 10
)

// idleWait is how long a plain socket may keep a reader waiting who holds more than
// leastRoom.
const idleWait = 50 * time.Millisecond

// noProgress is how many calls in a row may bring nothing, as in bufio.
const noProgress = 100

// errEnded is what carrying out an operation returns that was ended from outside.
var errEnded = errors.New("aio: ended")

// read carries out the first read in the queue. It is called with mu held, which
// it releases meanwhile.
func (dir *direction) read() {
	d := dir.conn.driver
	o := dir.start()
	d.mu.Unlock()
	var err error
	switch o.Kind {
	case op.ReadLeased, op.ReadCounted:
		err = dir.readOwn(o)
	default:
		dir.takeKept(o, o.Buf)
		for err == nil && !o.filled() {
			err = dir.receive(o, o.Buf[o.n:], o.Deadline)
		}
	}
	if err != nil && !o.filled() {
		if isTimeout(err, o.Deadline) && !o.Deadline.IsZero() {
			err = op.ErrDeadline
		}
		err = dir.closedError(err)
	}
	d.mu.Lock()
	clear(dir.flight)
	dir.flight = dir.flight[:0]
	switch {
	case o.filled() && dir.conn.ending == nil:
		// What came with the last bytes, the end of the stream, comes again.
		err = nil
	case o.err != nil:
		err = o.err
	}
	d.complete(o, err)
}

// receive reads into p until something has come.
func (dir *direction) receive(o *operation, p []byte, until time.Time) error {
	for range noProgress {
		if passed(until) {
			return op.ErrDeadline
		}
		if !dir.arm(until) {
			return errEnded
		}
		n, err := dir.conn.conn.Read(p)
		o.calls++
		if n < 0 || n > len(p) {
			return fmt.Errorf("aio: %T.Read of %d bytes returned %d", dir.conn.conn, len(p), n)
		}
		o.n += n
		if n > 0 || err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// readOwn reads into memory of the watcher. It waits with little of it: a
// connection gets more when it fills what it has, and goes back to little when it
// falls silent, as far as the wait for it can be interrupted.
func (dir *direction) readOwn(o *operation) error {
	limit := dir.conn.driver.settings.BufferSize
	if o.Kind == op.ReadCounted && o.Size > 0 {
		limit = o.Size
	}
	for len(dir.kept) == 0 {
		slab, p, err := dir.roomFor(o, limit)
		if err != nil {
			return err
		}
		until := o.Deadline
		idle := time.Time{}
		if dir.stream && len(p) > leastRoom {
			idle = time.Now().Add(idleWait)
			if until.IsZero() || idle.Before(until) {
				until = idle
			}
		}
		o.Room = slab //sluice:moved
		err = dir.receive(o, p, until)
		slab, o.Room = o.Room, mem.Slab{} //sluice:moved
		if o.n == 0 {
			if slab.Valid() {
				slab.Release()
			}
			if until.Equal(idle) && !idle.IsZero() && (err == op.ErrDeadline || isTimeout(err, until)) {
				dir.room = leastRoom
				continue
			}
			return err
		}
		dir.resize(o.n, len(p))
		if slab.Valid() {
			dir.hand(o, slab) //sluice:moved
			return nil
		}
		dir.kept, o.n = p[:o.n], 0
	}
	return dir.handKept(o, limit)
}

// roomFor returns what to wait in for at most limit bytes: memory of the watcher, which a
// datagram needs at once and a socket of bytes has for a moment, or else the direction's own.
func (dir *direction) roomFor(o *operation, limit int) (mem.Slab, []byte, error) {
	size := min(dir.room, limit)
	if dir.messages || dir.stream && size > leastRoom {
		slab, err := dir.take(o, size)
		if err == nil {
			p := slab.Bytes()
			return slab, p[:min(len(p), limit)], nil
		}
		if dir.messages {
			return slab, nil, err
		}
	}
	if n := min(dir.room, mostHeld); len(dir.wait) != n {
		dir.wait = make([]byte, n)
	}
	return mem.Slab{}, dir.wait[:min(len(dir.wait), limit)], nil
}

// take gets memory for n bytes. Only what must not fail, the lease of a datagram, does not
// ask the budget; retained memory for one may be less.
func (dir *direction) take(o *operation, n int) (mem.Slab, error) {
	a := dir.conn.driver.settings.Allocator
	if slab := o.Room; slab.Valid() {
		o.Room = mem.Slab{}
		return slab, nil
	}
	if o.Kind == op.ReadLeased && dir.messages {
		return a.Slab(n), nil
	}
	slab, err := a.TrySlab(n)
	if err != nil && dir.messages && n > leastRoom {
		slab, err = a.TrySlab(leastRoom)
	}
	return slab, err
}

// hand makes the first bytes of slab, transferred, what o has read.
func (dir *direction) hand(o *operation, slab mem.Slab) {
	if o.Kind == op.ReadLeased {
		o.slab = slab
		return
	}
	o.block = slab.Cut(0, o.n)
	slab.Release()
	// The program may keep it for long, and it is alone in its block.
	o.block.Compact()
}

// handKept hands at most limit bytes of kept to o, as far as the budget has memory for
// them. When it has none they stay for the next read.
func (dir *direction) handKept(o *operation, limit int) error {
	a := dir.conn.driver.settings.Allocator
	n := min(len(dir.kept), limit)
	if o.Kind == op.ReadLeased {
		slab := a.Slab(n)
		dir.takeKept(o, slab.Bytes()[:n])
		dir.hand(o, slab) //sluice:moved
		return nil
	}
	slab, err := dir.take(o, n)
	if err != nil && n > leastRoom {
		slab, err = a.TrySlab(leastRoom)
	}
	if err != nil {
		return err
	}
	dir.takeKept(o, slab.Bytes()[:min(n, len(slab.Bytes()))])
	dir.hand(o, slab) //sluice:moved
	return nil
}

// takeKept copies to p what came before o and was for no read.
func (dir *direction) takeKept(o *operation, p []byte) {
	n := copy(p, dir.kept)
	dir.kept = dir.kept[n:]
	o.n += n
}

// resize learns from a read of n bytes into size.
func (dir *direction) resize(n, size int) {
	switch {
	case dir.messages:
	case n == size && size >= dir.room:
		dir.room = min(4*dir.room, dir.most)
	case n < dir.room/4:
		dir.room = max(dir.room/2, min(leastRoom, dir.most))
	}
}
