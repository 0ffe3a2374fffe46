package keepalive

import (
	"bytes"
	"context"
	"net/http"
	"runtime/debug"
	"time"
)

// Take serves a connection, transferred, that is between two requests. unread, borrowed, is
// what was read of the next ones.
func (s *Server) Take(nc Conn, unread []byte) {
	c := &conn{server: s, conn: nc, remote: nc.RemoteAddr().String()}
	c.watch.conn = c
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		c.cancel()
		nc.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.on.Add(1)
	s.mu.Unlock()
	if len(unread) > 0 {
		c.giveBack(bytes.Clone(unread))
		return
	}
	go c.run()
}

// run serves requests until the connection ends, or goes back to net/http.
func (c *conn) run() {
	for c.wait() {
		r, unread := c.read()
		if unread != nil {
			c.giveBack(unread)
			return
		}
		if r == nil || !c.serve(r) {
			break
		}
	}
	c.conn.Close()
	c.server.State(c.conn, http.StateClosed)
	c.end()
}

// end ends what the connection has here.
func (c *conn) end() {
	c.cancel()
	c.server.forget(c)
}

// wait waits for the first byte of a request. It returns false when none comes.
func (c *conn) wait() bool {
	s := c.server
	if !s.rest(c) {
		return false
	}
	s.State(c.conn, http.StateIdle)
	if c.come {
		c.come = false
		return true
	}
	c.conn.SetReadDeadline(time.Now().Add(s.Idle))
	n, _ := c.conn.Read(c.first[:])
	return n == 1
}

// read reads a request, of which the first byte has come. Without one it returns what was
// read of something else, for net/http; nil when the connection has failed.
func (c *conn) read() (r *http.Request, unread []byte) {
	s := c.server
	in := s.inputs.get()
	defer s.inputs.put(in)
	c.conn.SetReadDeadline(time.Now().Add(s.Header))
	in.begin(c.conn, c.first[0])
	defer in.end()
	head, err := in.header()
	if err == errOther {
		return nil, bytes.Clone(head)
	}
	if err != nil {
		return nil, nil
	}
	r = in.request(head)
	if r == nil || !Plain(r) || !s.Serves(r) {
		return nil, bytes.Clone(head)
	}
	return r, nil
}

// serve answers a request. It returns false when that was the last one.
func (c *conn) serve(r *http.Request) (next bool) {
	s := c.server
	if !s.begin(c) {
		return false
	}
	s.State(c.conn, http.StateActive)
	c.conn.SetWriteDeadline(time.Now().Add(s.Answer))
	r = r.WithContext(c.ctx)
	r.RemoteAddr = c.remote
	w := &response{conn: c, request: r, header: http.Header{}, length: unknown}
	defer w.release()
	c.watch.begin()
	defer c.watch.end()
	defer func() {
		if e := recover(); e != nil {
			if e != http.ErrAbortHandler { // as net/http does
				s.Log.Printf("panic serving %v: %v\n%s", c.remote, e, debug.Stack())
			}
			next = false
		}
	}()
	s.Handler.ServeHTTP(w, r)
	return w.finish() && c.ctx.Err() == nil
}

// giveBack gives the connection back to net/http, with what was read of it,
// transferred.
func (c *conn) giveBack(unread []byte) {
	c.conn.SetDeadline(time.Time{})
	c.conn.Return(unread)
	c.end()
	c.server.given.give(c.conn)
}
