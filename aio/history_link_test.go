package aio_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
)

// A link is a connection of a history: what the watcher has of it, the peer, and
// what must be true of both.
type link struct {
	h              *history
	id             int
	server, client net.Conn

	// What has been done to the connection. Each is set before the action, so that a
	// goroutine that sees the effect sees the cause too; freed is set after it.
	freeing, freed    atomic.Bool
	refused           atomic.Bool // a write overran the queue of a watcher that closes for it
	gone              atomic.Bool // the peer closed or reset
	finished          atomic.Bool // the peer has sent its last byte
	draining, drained atomic.Bool // it is read to its end, and has been

	sent   atomic.Int64 // bytes that the peer has written
	orders chan int     // for the peer: write so many bytes, 0 is the end of the stream
	gate   chan int     // the peer may read so many bytes; closed: all
	peers  sync.WaitGroup
	got    []byte // what the peer has read, its own until peers are done
	ending error  // and why it stopped
	broken bool   // a write of the peer failed

	queued atomic.Int64 // bytes submitted to write and not known to be complete
	held   atomic.Int64 // memory that these may hold, in bytes
	reads  atomic.Int32 // reads submitted and not known to be complete

	writing sync.Mutex // orders submissions of writes
	writes  []*task    // those that were accepted, in order; also refused ones meanwhile
	offset  int        // in the stream, of the next write

	// The collector's own, but for tally.
	received int      // bytes that reads have delivered, in the order of completion
	ended    error    // the first error that ends the stream: io.EOF or worse
	latest   [2][]int // by direction and worker: sequence number of the latest completion
	closed   bool     // a completion said that its queue was full

	tally atomic.Int32 // tasks not complete
}

const (
	mostOrders  = 4096
	peerPiece   = 16 << 10
	mostPending = 40
	mostQueued  = 512 << 10
)

func (h *history) newLink(id int, server, client net.Conn) *link {
	l := &link{h: h, id: id, server: server, client: client,
		orders: make(chan int, mostOrders), gate: make(chan int, mostOrders)}
	for i := range l.latest {
		l.latest[i] = make([]int, h.workers+2)
	}
	l.peers.Add(2)
	go l.peerWrites()
	go l.peerReads()
	return l
}

// doomed says that the connection may fail at any moment by what was done.
func (l *link) doomed() bool {
	return l.freeing.Load() || l.gone.Load() || l.h.closing.Load() || l.h.closesFull()
}

// peerWrites sends the peer's stream as it is ordered to.
func (l *link) peerWrites() {
	defer l.peers.Done()
	p := make([]byte, peerPiece)
	for n := range l.orders {
		if l.finished.Load() {
			continue
		}
		if n == 0 {
			l.finished.Store(true)
			if err := l.client.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				l.broken = true
				if !l.doomed() {
					l.h.errorf("peer of %d: CloseWrite: %v", l.id, err)
				}
			}
			continue
		}
		for n > 0 {
			piece := p[:min(n, len(p))]
			upstream(l.id).fill(piece, int(l.sent.Load()))
			k, err := l.client.Write(piece)
			l.sent.Add(int64(k))
			if err != nil {
				if !l.doomed() {
					l.h.errorf("peer of %d: writing: %v", l.id, err)
				}
				l.finished.Store(true)
				l.broken = true
				break
			}
			n -= k
		}
	}
}

// peerReads collects what comes, as fast as it is allowed to.
func (l *link) peerReads() {
	defer l.peers.Done()
	p := make([]byte, peerPiece)
	for {
		n, open := <-l.gate
		for l.ending == nil && (n > 0 || !open) {
			room := p
			if open {
				room = p[:min(n, len(p))]
			}
			k, err := l.client.Read(room)
			l.got = append(l.got, room[:k]...)
			l.ending = err
			n -= k
		}
		if !open {
			return
		}
	}
}

// breakOff has the peer close, with a reset where there is such a thing.
func (l *link) breakOff(reset bool) {
	l.gone.Store(true)
	if tcp, ok := l.client.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = l.client.Close()
}

// verify holds what the peer got against what was written. All is over.
func (l *link) verify() {
	var want []byte
	for _, w := range l.writes {
		want = append(want, w.content[:w.size]...)
	}
	// After a reset the kernel tells one of the two, reading or writing, and the
	// other sees an end.
	whole := l.ending == io.EOF && !l.gone.Load() && !l.broken
	switch {
	case l.ending == io.EOF:
	case !l.doomed(), errors.Is(l.ending, os.ErrDeadlineExceeded):
		l.h.errorf("peer of %d: reading ended with %v", l.id, l.ending)
	}
	switch {
	case len(l.got) > len(want) || whole && len(l.got) < len(want):
		l.h.errorf("peer of %d: got %d bytes, %d were written", l.id, len(l.got), len(want))
	case !bytes.Equal(l.got, want[:len(l.got)]):
		i := 0
		for l.got[i] == want[i] {
			i++
		}
		l.h.errorf("peer of %d: byte %d of %d is %#x, %#x was written: %s", l.id, i, len(want), l.got[i], want[i], l.writer(i))
	}
	if l.closed && !l.refused.Load() {
		l.h.errorf("link %d: closed for a full queue, and no submission was told", l.id)
	}
	if n := l.tally.Load(); n != 0 {
		l.h.errorf("link %d: %d operations never completed", l.id, n)
	}
}

// writer names the write that byte i of the stream is of.
func (l *link) writer(i int) string {
	for _, w := range l.writes {
		if i < w.size {
			return w.String()
		}
		i -= w.size
	}
	return "nobody"
}
