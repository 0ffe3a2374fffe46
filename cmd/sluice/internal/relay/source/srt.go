package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/tsmedia"
	"github.com/sluice-go/sluice/live"
)

// An srtSource is what the query of srt://HOST:PORT says.
type srtSource struct {
	streamID   string
	passphrase string
	latency    time.Duration // 0: the library's
}

const (
	// Lengths of a passphrase (SRT draft, section 6.1.1).
	shortestPassphrase, longestPassphrase = 10, 79
	// maxStreamID is the longest stream id (section 3.2.1.3).
	maxStreamID = 512
	// maxLatency bounds how long lost packets are waited for, and so memory.
	maxLatency = 8 * time.Second
	// maxBuffer is how many bytes the library may hold of what was received.
	maxBuffer = 32 << 20
)

// Why a connection by SRT ended.
var (
	errSilent = errors.New("source: nothing came in time")
	errBuffer = errors.New("source: the connection's buffer is too full")
)

// parseSRT reads the query of an address: streamid, passphrase, latency in milliseconds,
// and mode, which is caller. Errors have no value in them.
func parseSRT(u *url.URL) (*srtSource, error) {
	if u.Port() == "" {
		return nil, errors.New("without a port")
	}
	if u.User != nil || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return nil, errors.New("with more than host, port and query: # is written %23")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("with a query that cannot be read")
	}
	s := &srtSource{}
	for key, values := range q {
		v := values[0]
		switch {
		case len(values) > 1:
			return nil, fmt.Errorf("with %.40q twice", key)
		case key == "streamid" && len(v) <= maxStreamID:
			s.streamID = v
		case key == "passphrase" && len(v) >= shortestPassphrase && len(v) <= longestPassphrase:
			s.passphrase = v
		case key == "passphrase":
			return nil, fmt.Errorf("with a passphrase that has not %d to %d characters", shortestPassphrase, longestPassphrase)
		case key == "mode" && v == "caller":
		case key == "mode":
			return nil, errors.New("with another mode than caller")
		case key == "latency":
			ms, err := strconv.Atoi(v)
			if err != nil || ms < 1 || ms > int(maxLatency/time.Millisecond) {
				return nil, fmt.Errorf("with a latency that is no number of milliseconds from 1 to %d", maxLatency/time.Millisecond)
			}
			s.latency = time.Duration(ms) * time.Millisecond
		default:
			return nil, fmt.Errorf("with %.40q, which is none of streamid, passphrase, latency and mode, or is too long", key)
		}
	}
	return s, nil
}

// pullSRT is pull by SRT.
func pullSRT(ctx context.Context, s *Source, o *Options, publish func(live.Frame) error) error {
	c := srt.DefaultConfig()
	c.StreamId, c.Passphrase = s.srt.streamID, s.srt.passphrase
	c.ConnectionTimeout, c.PeerIdleTimeout = o.Start, o.Idle
	if d := s.srt.latency; d > 0 {
		c.ReceiverLatency, c.PeerLatency = d, d
	}
	conn, err := dialSRT(ctx, s.host, c)
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
		LeftOut: func(codec string) { o.Logger.Info("a track is left out", "stream", s.Stream, "codec", codec) },
	})
	close(over)
	<-watching
	if why := w.why.Load(); why != nil {
		err = *why
	}
	return fmt.Errorf("source: %w", err)
}

// dialSRT connects, until ctx is done: the library's Dial knows its own timeout only.
func dialSRT(ctx context.Context, host string, c srt.Config) (srt.Conn, error) {
	type dialed struct {
		conn srt.Conn
		err  error
	}
	done := make(chan dialed, 1)
	go func() {
		conn, err := srt.Dial("srt", host, c)
		done <- dialed{conn, err}
	}()
	select {
	case d := <-done:
		return d.conn, d.err
	case <-ctx.Done():
		go func() {
			if d := <-done; d.err == nil {
				d.conn.Close()
			}
		}()
		return nil, ctx.Err()
	}
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
		case stats.Instantaneous.ByteRecvBuf > maxBuffer:
			why = errBuffer
		default:
			continue
		}
		w.why.CompareAndSwap(nil, &why)
		w.Conn.Close()
		return
	}
}
