//go:build unix

package main

import (
	"context"
	"io"
	"log"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// The kernel takes for a client that reads nothing what may wait in its queue, and not megabytes.
func TestTheKernelHoldsLittleForAClientThatDoesNotRead(t *testing.T) {
	const line, queue, most = 4 << 10, 64 << 10, 1 << 20
	listeners, err := listen(t.Context(), "127.0.0.1:0", queue)
	if err != nil {
		t.Fatal(err)
	}
	addr := listeners[0].Addr().String()
	h := newHub(log.New(io.Discard, "", 0), aio.SlowQueue)
	server := h.server(1, queue)
	watcher := make(chan *aio.Watcher, 1)
	server.Started = func(w *aio.Watcher, _ net.Listener) error {
		watcher <- w
		return nil
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listeners) }()
	dial(t, addr)
	deadline := time.Now().Add(atMost)
	w := <-watcher
	for w.Stats().Slow == 0 { // until then it is not accepted, or not behind
		if time.Now().After(deadline) {
			t.Fatal("the client is not accepted, or not behind")
		}
		h.push(mem.Default().Get(line))
	}
	if n := w.Stats().BytesWritten; n > most {
		t.Errorf("the kernel has taken %d bytes for a client that reads nothing, with a queue of %d", n, queue)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
