package calibrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

const (
	// pingSize is the length of a message in bytes.
	pingSize = 64
	// longestLoopback bounds it on a machine that is stuck.
	longestLoopback = 10 * time.Second
)

// Loopback measures n round trips of 64 bytes on one TCP connection over
// loopback; each end has its own thread that waits in read(2), where the system lets a
// socket do so. That is the cost of a request without any work on it. When ctx ends it
// returns what it has measured.
func Loopback(ctx context.Context, n int) (load.Distribution, error) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return load.Distribution{}, fmt.Errorf("calibrate: %w", err)
	}
	defer l.Close()
	dialed, err := net.DialTCP("tcp4", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		return load.Distribution{}, fmt.Errorf("calibrate: %w", err)
	}
	near := waiting(dialed)
	accepted, err := l.AcceptTCP()
	if err != nil {
		return load.Distribution{}, errors.Join(fmt.Errorf("calibrate: %w", err), near.Close())
	}
	far := waiting(accepted)
	// A machine that is stuck: the end of the stream ends every read.
	stuck := time.AfterFunc(longestLoopback, func() { errors.Join(near.shut(), far.shut()) })
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		answer(far)
	}()
	defer func() {
		stuck.Stop()
		near.shut()
		<-answered
		near.Close()
		far.Close()
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	trips := make([]time.Duration, 0, n)
	buf := make([]byte, pingSize)
	for len(trips) < n && ctx.Err() == nil {
		began := time.Now()
		if _, err = near.Write(buf); err == nil {
			_, err = io.ReadFull(near, buf)
		}
		if err != nil {
			return load.Distribution{}, fmt.Errorf("calibrate: over loopback: %w", err)
		}
		trips = append(trips, time.Since(began))
	}
	return distribution(trips), ctx.Err()
}

// A waiter is a connection whose reads wait in the system call, and not in the
// runtime's poller.
type waiter struct {
	io.ReadWriter
	conn *net.TCPConn
	file *os.File // nil where the system has none of a socket
}

func waiting(c *net.TCPConn) *waiter {
	f, err := c.File()
	if err != nil {
		return &waiter{c, c, nil}
	}
	f.Fd() // makes it wait
	return &waiter{f, c, f}
}

// shut ends the stream at both ends: closing alone would leave a read waiting.
func (w *waiter) shut() error { return errors.Join(w.conn.CloseRead(), w.conn.CloseWrite()) }

func (w *waiter) Close() error {
	if w.file == nil {
		return w.conn.Close()
	}
	return errors.Join(w.file.Close(), w.conn.Close())
}

// answer sends messages back until the connection ends.
func answer(c io.ReadWriter) {
	buf := make([]byte, pingSize)
	for {
		if _, err := io.ReadFull(c, buf); err != nil {
			return
		}
		if _, err := c.Write(buf); err != nil {
			return
		}
	}
}
