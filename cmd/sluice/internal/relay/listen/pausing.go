package listen

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// A Pausing listener can stop accepting for a while. What connects meanwhile waits in the
// kernel, for this process or for another one that has the same listener. The kernel takes
// little for those of its connections that read nothing: see MaxUnsent.
type Pausing struct {
	*net.TCPListener

	mu     sync.Mutex
	paused chan struct{} // closed when it goes on; nil: it accepts
}

// Accept waits while l is paused.
func (l *Pausing) Accept() (net.Conn, error) {
	for {
		conn, err := l.TCPListener.AcceptTCP()
		if err == nil {
			limitUnsent(conn)
			return conn, nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, err
		}
		l.mu.Lock()
		paused := l.paused
		l.mu.Unlock()
		if paused != nil {
			<-paused
		}
	}
}

// Pause stops accepting until Resume or Close. A second Pause does nothing.
func (l *Pausing) Pause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused == nil {
		l.paused = make(chan struct{})
		l.TCPListener.SetDeadline(time.Unix(1, 0))
	}
}

// Resume accepts again. Without Pause it does nothing.
func (l *Pausing) Resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused != nil {
		l.TCPListener.SetDeadline(time.Time{})
		close(l.paused)
		l.paused = nil
	}
}

// Close closes the listener, paused or not. Another process that has it keeps it.
func (l *Pausing) Close() error {
	err := l.TCPListener.Close()
	l.Resume()
	return err
}
