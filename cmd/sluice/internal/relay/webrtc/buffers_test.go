package webrtc

import (
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"github.com/pion/transport/v5/packetio"
)

// received returns a session's buffers, of which a test takes those of sources.
func received(all *atomic.Int64) func() *buffer {
	x := &buffers{media: true, all: all, end: func(error) {}, left: func() {}}
	return func() *buffer { return x.buffer(packetio.RTPBufferPacket, 0).(*buffer) }
}

// fill writes packets until no more are taken, and returns how many bytes were.
func fill(t *testing.T, b *buffer) (sum int) {
	t.Helper()
	for {
		n, err := b.Write(make([]byte, 1000))
		if errors.Is(err, packetio.ErrFull) {
			return sum
		}
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
}

// A client that sends what is of no track, as layers that were not asked for, loses nothing of
// its tracks for that: they stood still when 2 MB of it had come.
func TestMediaOfNoTrack(t *testing.T) {
	all := new(atomic.Int64)
	source := received(all)
	none, track := source(), source()
	if n := fill(t, none); n < maxWaiting/2 || n > maxWaiting {
		t.Fatalf("%d bytes wait", n)
	}
	none.since = none.since.Add(-2 * readWithin)
	if fill(t, none); all.Load() != 0 {
		t.Fatalf("%d bytes wait that are of no track", all.Load())
	}
	if fill(t, none); all.Load() > readSize {
		t.Errorf("%d bytes wait that are of no track", all.Load())
	}
	p := make([]byte, readSize)
	for range 3000 {
		if _, err := track.Write(p[:1000]); err != nil {
			t.Fatal(err)
		}
		if n, err := track.Read(p); n != 1000 || err != nil {
			t.Fatal(n, err)
		}
	}
	// What is read after all is a track.
	if _, err := none.Read(p); err != nil {
		t.Fatal(err)
	}
	if n := fill(t, none); n < maxWaiting/2 {
		t.Errorf("%d bytes wait", n)
	}
	none.Close()
	if _, err := none.Read(p); err != io.EOF || all.Load() != 0 {
		t.Errorf("%v after the end, %d bytes wait", err, all.Load())
	}
}

// What waits of all clients has a bound, which takes nothing from those of which little does.
func TestMediaThatWaitsOfManyClients(t *testing.T) {
	const clients = 100
	all := new(atomic.Int64)
	for range clients {
		fill(t, received(all)())
	}
	if n := all.Load(); n > maxWaitingAll+clients*fairWaiting {
		t.Errorf("%d bytes wait", n)
	}
	if n := fill(t, received(all)()); n < fairWaiting-readSize {
		t.Errorf("another client has room for %d bytes", n)
	}
}
