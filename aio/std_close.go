package aio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"time"
)

// stdCloseWait bounds how long closing the watcher waits for connections whose
// Close does not end their Read and Write, as net.Conn says it does. crypto/tls
// takes up to 5 s for its goodbye.
const stdCloseWait = 10 * time.Second

// end closes c for the operations on it, which complete with err. The lanes do
// that in order, as soon as somebody has closed the connection itself.
func (s *std) end(c *stdConn, err error) {
	if c.ending != nil {
		return
	}
	c.ending = err
	for _, l := range [...]*stdLane{&c.reads, &c.writes} {
		for _, op := range l.flight {
			if op.state == opFlying && op.err == nil {
				op.err = err
			}
		}
	}
	s.known.free(c.conn)
	s.count.Freed++
	s.settle(c)
}

// free closes conn in the caller, which crypto/tls may take up to 5 s for when the
// peer takes nothing, and returns what Close says. Freeing it again closes it again
// where it is not known that it was freed, which does nothing either.
func (s *std) free(conn net.Conn) error {
	if conn == nil {
		return fmt.Errorf("%w: it is nil", ErrUnsupported)
	}
	if err := identifiable(conn); err != nil {
		if v := reflect.ValueOf(conn); v.Kind() == reflect.Pointer {
			return err
		}
		return closeOnce(conn)
	}
	s.mu.Lock()
	if c := s.conns[conn]; c != nil {
		freed := c.ending != nil
		s.end(c, io.ErrClosedPipe)
		s.mu.Unlock()
		if freed {
			return nil
		}
		return closeOnce(conn)
	}
	freed, anew := s.known.free(conn)
	if !freed {
		s.count.Freed++
		if anew {
			s.count.Delegated++
		}
	}
	s.mu.Unlock()
	if freed {
		return nil
	}
	return closeOnce(conn)
}

// closeOnce closes conn, for which being closed already is no error.
func closeOnce(conn net.Conn) error {
	err := conn.Close()
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// closeConn is a goroutine that closes conn, since that may take its time.
func (s *std) closeConn(conn net.Conn) {
	conn.Close()
	s.mu.Lock()
	s.exit()
	s.mu.Unlock()
}

// exit is the end of a goroutine that std.routines counts.
func (s *std) exit() {
	s.routines--
	if s.routines == 0 && s.state == stdClosing {
		close(s.gone)
	}
}

// close returns when no goroutine is left, or after stdCloseWait, when what a
// stuck connection has of buffers stays there.
func (s *std) close() {
	s.mu.Lock()
	if s.state >= stdClosing {
		s.mu.Unlock()
		<-s.ended
		return
	}
	s.state = stdClosing
	s.cut = s.writes > 0
	s.routines++
	s.ownSwaps()
	var conns []net.Conn
	for conn := range s.known.idle(s.conns) {
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		s.known.free(conn)
		s.count.Freed++
	}
	for conn, c := range s.conns {
		if c.ending == nil {
			conns = append(conns, conn)
			s.end(c, ErrWatcherClosed)
		}
	}
	s.routines += len(conns)
	s.mu.Unlock()
	for _, conn := range conns {
		go s.closeConn(conn)
	}

	s.mu.Lock()
	s.exit()
	s.mu.Unlock()
	timer := time.NewTimer(stdCloseWait)
	defer timer.Stop()
	select {
	case <-s.gone:
	case <-timer.C:
	}
	s.mu.Lock()
	s.state = stdClosed
	s.checkDrained()
	s.mu.Unlock()
	close(s.ended)
	s.more.Broadcast()
}

func (s *std) shutdown(ctx context.Context) error {
	s.mu.Lock()
	if s.state == stdOpen {
		s.state = stdDraining
		s.drained = make(chan struct{})
		s.checkDrained()
	}
	if s.state != stdDraining {
		s.mu.Unlock()
		s.close()
		return nil
	}
	var reads []*stdOp
	for _, c := range s.conns {
		for _, op := range c.reads.flight {
			if op.state == opFlying && op.err == nil {
				op.err = ErrWatcherClosed
				reads = append(reads, op)
			}
		}
	}
	drained := s.drained
	s.mu.Unlock()
	for _, op := range reads {
		op.lane.poke(op)
	}
	select {
	case <-drained:
	case <-ctx.Done():
	}
	s.mu.Lock()
	var err error
	switch {
	case s.cut:
		err = ErrWatcherClosed
	case s.writes > 0:
		err = context.Cause(ctx)
	}
	s.mu.Unlock()
	s.close()
	return err
}

// checkDrained tells shutdown that there are no writes left, or that there is
// nothing left to wait for.
func (s *std) checkDrained() {
	if s.drained == nil || s.state < stdClosed && s.writes > 0 {
		return
	}
	select {
	case <-s.drained:
	default:
		close(s.drained)
	}
}
