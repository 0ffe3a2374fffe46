package echo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/sluice-go/sluice/aio"
)

// aioEngine has a watcher for each listener.
type aioEngine struct {
	settings Settings
	driver   string
	mu       sync.Mutex
	watchers []*aio.Watcher
}

func newAIOEngine(s Settings) (*aioEngine, error) {
	// What the others will be like.
	w, err := aio.NewWatcher()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	kind, reason := w.Driver()
	return &aioEngine{settings: s, driver: fmt.Sprintf("%v (%s)", kind, reason)}, nil
}

func (e *aioEngine) about() string {
	if e.settings.Buffer == 0 {
		return fmt.Sprintf("aio by %s, reads without a buffer", e.driver)
	}
	return fmt.Sprintf("aio by %s, a buffer of %d bytes for each connection", e.driver, e.settings.Buffer)
}

func (e *aioEngine) serve(ctx context.Context, listeners []net.Listener) error {
	s := aio.Server{
		Handler: &aioBuffered{e.settings.Buffer}, Grace: e.settings.Grace, OnError: e.settings.OnError,
		Started: func(w *aio.Watcher, _ net.Listener) error {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.watchers = append(e.watchers, w)
			return nil
		},
	}
	if e.settings.Buffer == 0 {
		s.Handler = aioBare{}
	}
	return s.Serve(ctx, listeners)
}

// counts has everything from the watchers, which count anyway.
func (e *aioEngine) counts() (c Counts) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.watchers {
		s := w.Stats()
		c.Open += s.Conns
		c.Accepted += s.Delegated
		c.Requests += s.Writes
		c.Bytes += s.BytesWritten
	}
	return c
}

// ended reports whether r is the last of its connection, and frees that unless
// the watcher sees to it.
func ended(w *aio.Watcher, r *aio.OpResult) bool {
	if r.Error != nil && !errors.Is(r.Error, aio.ErrWatcherClosed) {
		w.Free(r.Conn)
	}
	return r.Error != nil
}

// aioBuffered has one buffer for each connection. Reads and writes use it
// alternately.
type aioBuffered struct{ size int }

func (h *aioBuffered) Accepted(w *aio.Watcher, conn net.Conn) {
	if w.Read(nil, conn, make([]byte, h.size)) != nil {
		w.Free(conn)
	}
}

func (h *aioBuffered) Completed(w *aio.Watcher, r *aio.OpResult) {
	if ended(w, r) {
		return
	}
	var err error
	if r.Operation == aio.OpRead {
		err = w.Write(nil, r.Conn, r.Buffer[:r.Size])
	} else {
		err = w.Read(nil, r.Conn, r.Buffer[:cap(r.Buffer)])
	}
	if err != nil {
		w.Free(r.Conn)
	}
}

// aioBare has no buffers for reading. What was read is the watcher's until the
// next WaitIO, which a write may outlast, so that it is copied.
type aioBare struct{}

// copies are what writes are under way with. They come back as the context of
// the write.
var copies = sync.Pool{New: func() any { return new([]byte) }}

func (aioBare) Accepted(w *aio.Watcher, conn net.Conn) {
	if w.Read(nil, conn, nil) != nil {
		w.Free(conn)
	}
}

func (aioBare) Completed(w *aio.Watcher, r *aio.OpResult) {
	if r.Operation == aio.OpWrite {
		copies.Put(r.Context)
	}
	if ended(w, r) {
		return
	}
	var err error
	if r.Operation == aio.OpRead {
		c := copies.Get().(*[]byte)
		*c = append((*c)[:0], r.Buffer...)
		if err = w.Write(c, r.Conn, *c); err != nil {
			copies.Put(c)
		}
	} else {
		err = w.Read(nil, r.Conn, nil)
	}
	if err != nil {
		w.Free(r.Conn)
	}
}
