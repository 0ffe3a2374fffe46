package keepalive

import "time"

// begin begins to watch. The caller calls end before it reads.
func (w *watch) begin() {
	w.mu.Lock()
	w.on, w.read = true, nil
	w.mu.Unlock()
	if after := w.conn.server.Watch; w.timer == nil {
		w.timer = time.AfterFunc(after, w.run)
	} else {
		w.timer.Reset(after)
	}
}

// run reads what the client sends. It may be the first byte of its next request. The timer
// of the request before may be late: then this one is watched early, by one goroutine.
func (w *watch) run() {
	w.mu.Lock()
	if !w.on || w.read != nil {
		w.mu.Unlock()
		return
	}
	read := make(chan struct{})
	defer close(read)
	w.read = read
	w.conn.conn.SetReadDeadline(time.Time{})
	w.mu.Unlock()
	if n, _ := w.conn.conn.Read(w.conn.first[:]); n == 1 {
		w.conn.come = true
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.on {
		w.conn.cancel()
	}
}

// end ends the watch, and waits for its goroutine.
func (w *watch) end() {
	w.timer.Stop()
	w.mu.Lock()
	w.on = false
	read := w.read
	if read != nil {
		w.conn.conn.SetReadDeadline(time.Unix(1, 0)) // long ago
	}
	w.mu.Unlock()
	if read != nil {
		<-read
	}
}
