package keepalive

import (
	"context"
	"sync"
	"time"
)

// A watch ends the context of a request whose client leaves. It costs a goroutine, which
// begins when a handler has run for some time: most have answered by then.
type watch struct {
	conn   *conn
	cancel context.CancelFunc
	timer  *time.Timer

	mu   sync.Mutex
	over bool
	read chan struct{} // closed when the goroutine has ended; nil: it has not begun
}

// watch begins to watch. The caller calls end before it reads.
func (c *conn) watch(cancel context.CancelFunc) *watch {
	w := &watch{conn: c, cancel: cancel}
	w.timer = time.AfterFunc(c.server.Watch, w.run)
	return w
}

// run reads what the client sends. It may be the first byte of its next request.
func (w *watch) run() {
	w.mu.Lock()
	if w.over {
		w.mu.Unlock()
		return
	}
	w.read = make(chan struct{})
	defer close(w.read)
	w.conn.conn.SetReadDeadline(time.Time{})
	w.mu.Unlock()
	if n, _ := w.conn.conn.Read(w.conn.first[:]); n == 1 {
		w.conn.come = true
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.cancel()
	}
}

// end ends the watch, and waits for its goroutine.
func (w *watch) end() {
	w.timer.Stop()
	w.mu.Lock()
	w.over = true
	read := w.read
	if read != nil {
		w.conn.conn.SetReadDeadline(time.Unix(1, 0)) // long ago
	}
	w.mu.Unlock()
	if read != nil {
		<-read
	}
}
