package webrtc

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/pion/transport/v5/packetio"
)

const (
	// maxSources is how many sources (SSRC) a client may name in its media and its reports.
	// A browser has some for each track, and each layer of it. The library keeps 2.5 KB for
	// each as long as the session lives.
	maxSources = 128
	// maxWaiting is how many bytes of a client may wait to be read: more is lost, as on the
	// way. What is of no track is never read.
	maxWaiting = 2 << 20
	// readSize is the size of the buffers into which packets are read. Longer ones are lost.
	readSize = 1500
)

// ErrSources: a client has named too many sources.
var ErrSources = fmt.Errorf("the client names more than %d sources of media", maxSources)

// buffers are what a session has received, by source.
type buffers struct {
	media   bool // the client may send media
	end     func(reason error)
	sources atomic.Int32
	waiting atomic.Int64 // bytes
}

// buffer returns one for packets of a source.
func (x *buffers) buffer(kind packetio.BufferPacketType, _ uint32) io.ReadWriteCloser {
	switch {
	case x.sources.Add(1) > maxSources:
		x.end(ErrSources)
		return nothing{}
	case kind == packetio.RTPBufferPacket && !x.media:
		return nothing{}
	}
	return &buffer{packetio.NewBuffer(), x}
}

// buffer holds packets of one source.
type buffer struct {
	packets *packetio.Buffer
	all     *buffers
}

// Write copies p, borrowed until it returns.
func (b *buffer) Write(p []byte) (int, error) {
	n := int64(len(p))
	if n > readSize {
		return 0, packetio.ErrFull
	}
	if b.all.waiting.Add(n) > maxWaiting {
		b.all.waiting.Add(-n)
		return 0, packetio.ErrFull
	}
	k, err := b.packets.Write(p, nil)
	if err != nil {
		b.all.waiting.Add(-n)
	}
	return k, err
}

// Read reads one packet into p, borrowed until it returns.
func (b *buffer) Read(p []byte) (int, error) {
	n, _, err := b.packets.Read(p, nil)
	b.all.waiting.Add(-int64(n))
	return n, err
}

func (b *buffer) Close() error { return b.packets.Close() }

// nothing takes packets, borrowed, that no goroutine will read.
type nothing struct{}

func (nothing) Write(p []byte) (int, error) { return len(p), nil }
func (nothing) Read([]byte) (int, error)    { return 0, io.EOF }
func (nothing) Close() error                { return nil }
