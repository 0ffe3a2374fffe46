package calibrate

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

const (
	// pingSize is the length of a message in bytes.
	pingSize = 64
	// loopbackPatience bounds a round trip on a machine that is stuck.
	loopbackPatience = 10 * time.Second
)

// Loopback measures n round trips of 64 bytes on one TCP connection over
// loopback; each end has its own thread that waits in read(2). That is the cost of a request without any
// work on it. When ctx ends it returns what it has measured.
func Loopback(ctx context.Context, n int) (load.Distribution, error) {
	near, far, shut, release, err := newPair()
	if err != nil {
		return load.Distribution{}, err
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		answer(far)
	}()
	defer func() {
		shut()
		<-answered
		release()
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
