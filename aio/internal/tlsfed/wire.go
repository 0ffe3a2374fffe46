package tlsfed

import (
	"io"
	"net"
	"time"
)

// ErrNoBytes ends a read of crypto/tls for the time being. It is a temporary net.Error,
// which crypto/tls does not keep.
var ErrNoBytes error = noBytes{}

type noBytes struct{}

func (noBytes) Error() string   { return "aio: no bytes of the peer yet" }
func (noBytes) Timeout() bool   { return true }
func (noBytes) Temporary() bool { return true }

// wire is a Session as crypto/tls sees it: the connection beneath.
type wire Session

// Read waits for bytes as long as the session is not open, which is in a goroutine of
// Handshakes. Later it never waits.
func (w *wire) Read(p []byte) (int, error) {
	s := (*Session)(w)
	if !s.open {
		return s.readEarly(p)
	}
	if s.opening != nil {
		n := s.opening.early.take(p)
		if s.opening.early.len() == 0 {
			s.opening = nil
		}
		return n, nil
	}
	switch {
	case len(s.now) > 0:
		n := copy(p, s.now)
		s.now = s.now[n:]
		return n, nil
	case s.ended != nil:
		return 0, s.ended
	}
	return 0, ErrNoBytes
}

// readEarly waits for records.
func (s *Session) readEarly(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.opening
	if o.early.len() == 0 && o.ended == nil {
		s.handshakes.waits(s, true)
		for o.early.len() == 0 && o.ended == nil {
			o.arrived.Wait()
		}
		s.handshakes.waits(s, false)
	}
	if o.ended != nil && o.ended != io.EOF || o.early.len() == 0 {
		return 0, o.ended
	}
	n := o.early.take(p)
	if o.full && o.early.len() == 0 {
		o.full = false
		s.out.Wake()
	}
	return n, nil
}

// Write sends records, or puts them to those of a Write that is under way.
func (w *wire) Write(p []byte) (int, error) {
	s := (*Session)(w)
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.batch.writers > 0 {
		err = s.batch.add(s.memory, s.out, p)
	} else {
		err = s.out.WriteRecords(p, s.shut.Load()) // close_notify is never too much
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close is called by crypto/tls when the context of a handshake is done.
func (w *wire) Close() error {
	(*Session)(w).End(net.ErrClosed)
	return nil
}

func (w *wire) LocalAddr() net.Addr  { return w.out.LocalAddr() }
func (w *wire) RemoteAddr() net.Addr { return w.out.RemoteAddr() }

// Nothing waits here, so deadlines have no effect: crypto/tls sets one for its
// close_notify.

func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
