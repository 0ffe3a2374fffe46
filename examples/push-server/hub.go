package main

import (
	"errors"
	"io"
	"log"
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// hub is the handler, and knows the clients. Several goroutines call it: those
// that accept, those in WaitIO, and whoever pushes.
type hub struct {
	log     *log.Logger
	mu      sync.Mutex
	clients map[net.Conn]*aio.Watcher
	refs    []mem.Buf // scratch of push
}

func newHub(l *log.Logger) *hub {
	return &hub{log: l, clients: make(map[net.Conn]*aio.Watcher)}
}

// Accepted waits for what the client says: that is how its end is heard of.
func (h *hub) Accepted(w *aio.Watcher, conn net.Conn) {
	h.mu.Lock()
	h.clients[conn] = w
	h.mu.Unlock()
	if err := w.Read(nil, conn, nil); err != nil {
		h.drop(w, conn, err)
	}
}

// Completed looks at reads only: each client has one pending, which ends with
// the connection, whatever ended that.
func (h *hub) Completed(w *aio.Watcher, r *aio.OpResult) {
	if r.Operation == aio.OpWrite {
		return
	}
	err := r.Error
	if err == nil {
		err = w.Read(nil, r.Conn, nil) // what clients say is thrown away
	}
	if err != nil {
		h.drop(w, r.Conn, err)
	}
}

// drop forgets a client whose read has ended with err.
func (h *hub) drop(w *aio.Watcher, conn net.Conn, err error) {
	h.mu.Lock()
	delete(h.clients, conn)
	h.mu.Unlock()
	switch {
	case errors.Is(err, aio.ErrWatcherClosed):
		return // the server is shutting down: the watcher closes it after the last line
	case errors.Is(err, aio.ErrQueueFull):
		h.log.Printf("%v does not keep up: disconnected", conn.RemoteAddr())
	case err != io.EOF:
		h.log.Printf("%v: %v", conn.RemoteAddr(), err)
	}
	w.Free(conn)
}

// push sends line, transferred, to every client. It waits for nobody: what a
// client's socket does not take is queued by the watcher, up to its QueueLimit.
func (h *hub) push(line mem.Buf) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.clients)
	if cap(h.refs) < n {
		h.refs = make([]mem.Buf, n)
	}
	refs := h.refs[:n]
	line.Share(refs) // one atomic operation for all of them
	line.Release()
	for conn, w := range h.clients {
		// An error means that the client is gone, or is being disconnected
		// because its queue is full: the read that is pending says so.
		n--
		_ = w.WriteBuf(nil, conn, refs[n], time.Time{})
	}
	clear(refs)
}

func (h *hub) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.clients)
}

// counted returns s in counted memory, retained.
func counted(s string) mem.Buf {
	b := mem.Default().Get(len(s))
	copy(b.Bytes(), s)
	return b
}
