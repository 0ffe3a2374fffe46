package webrtc

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/transport/v5/packetio"
)

const (
	// maxSources is how many sources (SSRC) a client may name in its media and its reports.
	// A browser has some for each track, and each layer of it. The library keeps 2.5 KB for
	// each as long as the session lives.
	maxSources = 128
	// maxWaiting is how many bytes of a client may wait to be read, or for a client over TCP;
	// maxWaitingAll of all together: more is lost, as on the way, but for clients of which no
	// more than fairWaiting does.
	maxWaiting, maxWaitingAll, fairWaiting = 2 << 20, 16 << 20, 128 << 10
	// What is of no track is never read: it is dropped when the first of it has waited for
	// readWithin. The library reads up to probeReads packets to find that out.
	readWithin, probeReads = 2 * time.Second, 16
	// readSize is the size of the buffers into which packets are read. Longer ones are lost.
	readSize = 1500
)

// ErrSources: a client has named too many sources.
var ErrSources = fmt.Errorf("the client names more than %d sources of media", maxSources)

// buffers are what a session has received, by source, or what waits for a client over TCP.
type buffers struct {
	media   bool // the client may send media
	end     func(reason error)
	left    func()        // a packet of media waits no more
	all     *atomic.Int64 // bytes that wait in all buffers of this kind
	sources atomic.Int32
	waiting atomic.Int64 // bytes
}

// buffer returns one for packets of a source.
func (x *buffers) buffer(kind packetio.BufferPacketType, _ uint32) io.ReadWriteCloser {
	switch {
	case x.sources.Add(1) > maxSources:
		x.end(ErrSources)
		return nothing{func() {}}
	case kind != packetio.RTPBufferPacket:
		return x.one()
	case !x.media:
		return nothing{x.left}
	}
	b := x.one()
	b.left = x.left
	return b
}

func (x *buffers) one() *buffer {
	b := &buffer{all: x, left: func() {}}
	b.come.L = &b.mu
	return b
}

// take counts n bytes more, if they may wait.
func (x *buffers) take(n int) bool {
	own, all := x.waiting.Add(int64(n)), x.all.Add(int64(n))
	if own <= fairWaiting || own <= maxWaiting && all <= maxWaitingAll {
		return true
	}
	x.give(n)
	return false
}

func (x *buffers) give(n int) {
	x.waiting.Add(-int64(n))
	x.all.Add(-int64(n))
}

// buffer holds packets of one source.
type buffer struct {
	all  *buffers
	left func() // a packet waits no more, or is not waited for

	mu      sync.Mutex
	come    sync.Cond
	packets [][]byte
	since   time.Time // when the first of them came
	reads   int
	early   int  // the first of packets, which came when it was not known to be of a track
	unread  bool // it is of no track: what came was not read
	closed  bool
}

// Write copies p, borrowed until it returns.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.put(p)
	switch {
	case err != nil:
		b.left()
	case b.reads <= probeReads:
		b.early++
		b.left()
	}
	return n, err
}

// put is Write under the lock.
func (b *buffer) put(p []byte) (int, error) {
	switch {
	case b.closed:
		return 0, io.ErrClosedPipe
	case len(b.packets) == 0:
		b.since = time.Now()
	case b.unread:
		return 0, packetio.ErrFull
	case b.reads <= probeReads && time.Since(b.since) > readWithin:
		b.unread = true
		b.empty()
		return 0, packetio.ErrFull
	}
	if len(p) > readSize || !b.all.take(len(p)) {
		return 0, packetio.ErrFull
	}
	b.packets = append(b.packets, bytes.Clone(p))
	b.come.Signal()
	return len(p), nil
}

// Read reads one packet into p, borrowed until it returns.
func (b *buffer) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.packets) == 0 {
		if b.closed {
			return 0, io.EOF
		}
		b.come.Wait()
	}
	first := b.packets[0]
	b.drop()
	b.reads, b.unread, b.since = b.reads+1, false, time.Now()
	n := copy(p, first)
	if n < len(first) {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

func (b *buffer) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.empty()
	b.come.Broadcast()
	return nil
}

// empty drops what waits. The lock is held.
func (b *buffer) empty() {
	for len(b.packets) > 0 {
		b.drop()
	}
	b.packets = nil
}

// drop drops the first packet. The lock is held.
func (b *buffer) drop() {
	b.all.give(len(b.packets[0]))
	b.packets[0] = nil
	b.packets = b.packets[1:]
	if b.early > 0 {
		b.early--
	} else {
		b.left()
	}
}

// nothing takes packets, borrowed, that no goroutine will read.
type nothing struct{ left func() }

func (b nothing) Write(p []byte) (int, error) { b.left(); return len(p), nil }
func (nothing) Read([]byte) (int, error)      { return 0, io.EOF }
func (nothing) Close() error                  { return nil }
