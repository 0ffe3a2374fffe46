package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/srtconn"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/tsmedia"
	"github.com/sluice-go/sluice/live"
)

// Why a connection by SRT ended.
var (
	errSilent = errors.New("source: nothing came in time")
	errBuffer = errors.New("source: the connection's buffer is too full")
)

// pullSRT is pull by SRT.
func pullSRT(ctx context.Context, s *Source, o *Options, publish func(live.Frame) error, leftOut func(what string)) error {
	c := s.srt.Config()
	c.ConnectionTimeout, c.PeerIdleTimeout = o.Start, o.Idle
	conn, err := srtconn.Dial(ctx, s.host, c)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	w := &srtReader{Conn: conn, idle: o.Idle}
	watching, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watching)
		w.watch(over)
	}()
	err = tsmedia.Read(w, tsmedia.Options{
		Alloc: o.Alloc, MaxFrame: o.MaxFrame, Publish: publish,
		LeftOut: leftOut,
	})
	close(over)
	<-watching
	if why := w.why.Load(); why != nil {
		err = *why
	}
	return fmt.Errorf("source: %w", err)
}

// srtReader is a connection that is read, whose own deadlines do nothing.
type srtReader struct {
	srt.Conn
	idle  time.Duration
	bytes atomic.Int64
	why   atomic.Pointer[error]
}

func (w *srtReader) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.bytes.Add(int64(n))
	if err != nil && n == 0 {
		err = io.EOF
	}
	return n, err
}

// watch closes the connection when nothing comes, or too much is kept, until over is closed.
func (w *srtReader) watch(over chan struct{}) {
	ticker := time.NewTicker(w.idle / 8)
	defer ticker.Stop()
	heard, at := int64(0), time.Now()
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
		}
		if total := w.bytes.Load(); total > heard {
			heard, at = total, time.Now()
		}
		var stats srt.Statistics
		w.Conn.Stats(&stats)
		var why error
		switch {
		case time.Since(at) >= w.idle:
			why = errSilent
		case stats.Instantaneous.ByteRecvBuf > srtconn.MaxBuffer:
			why = errBuffer
		default:
			continue
		}
		w.why.CompareAndSwap(nil, &why)
		w.Conn.Close()
		return
	}
}
