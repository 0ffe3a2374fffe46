package push

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/srtconn"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/tsmedia"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

var (
	errNothing = errors.New("push: nothing of the stream has a form in SRT's transport stream")
	errItself  = errors.New("push: the target is this server itself")
	errGone    = errors.New("push: the target ended the connection")
	errBuffer  = errors.New("push: the connection's buffer is too full")
)

// attemptSRT pushes by SRT until the stream ends, which is errOver, or something fails.
func (q *pushing) attemptSRT(ctx context.Context) error {
	o := &q.pusher.options
	first := q.now().Tries == 1
	video, audio, err := au.Discover(ctx, q.stream, 0, nil)
	if err != nil {
		return errOver // meanwhile
	}
	muxer, missing, err := tsmedia.New(video, audio)
	if err != nil {
		return fmt.Errorf("%w: %v", errNothing, missing)
	}
	muxer.LeftOut = func(c flv.FourCC) {
		o.Logger.Info("a codec without a form in SRT's transport stream is left out", "stream", q.stream.Name(), "target", q.target.String(), "codec", c)
	}
	if len(missing) > 0 && first {
		o.Logger.Info("codecs without a form in SRT's transport stream are left out", "stream", q.stream.Name(), "target", q.target.String(), "codecs", fmt.Sprint(missing))
	}
	if others := au.Others(q.stream); len(others) > 0 && first {
		o.Logger.Info("SRT carries the first track of each kind", "stream", q.stream.Name(), "target", q.target.String(), "left_out", fmt.Sprint(others))
	}
	if o.Itself != nil && o.Itself(ctx, q.target.host) {
		return errItself
	}
	c := q.target.srt.Config()
	c.StreamId = q.name
	c.ConnectionTimeout, c.PeerIdleTimeout = min(callTime, o.Timeout), o.Timeout
	waiting, connected := q.whileLive(ctx)
	conn, err := srtconn.Dial(waiting, q.target.host, c)
	connected()
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	to := srtconn.NewPaced(conn)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, to.Stop)() // a write may wait for the line
	var reading sync.WaitGroup
	reading.Go(func() {
		cancel(gone(conn))
		to.Stop()
	})
	defer reading.Wait()
	defer conn.Close()
	// Frames from before a failure may have a codec that the stream has no more.
	tags, err := q.stream.NewReader(live.ReaderOptions{FromStart: first})
	if err != nil {
		return errOver
	}
	defer tags.Close()
	w := srtWriter{to: to, conn: conn, muxer: muxer, bare: q.leaveBare}
	if err = q.send(ctx, tags, w.write); err == errOver {
		to.Linger(ctx)
	}
	if why := context.Cause(ctx); err != errOver && why != nil {
		return why
	}
	return err
}

// gone waits for a connection's end: a target sends nothing.
func gone(conn srt.Conn) error {
	var room [1500]byte
	for {
		if _, err := conn.Read(room[:]); err != nil {
			return errGone
		}
	}
}

// srtWriter makes a transport stream of tags.
type srtWriter struct {
	to      *srtconn.Paced
	conn    srt.Conn
	muxer   *tsmedia.Muxer
	split   au.Splitter
	bare    func(flv.FourCC) // called for each picture before its sequence header, which is left out
	checked time.Time
}

// leaveBare logs once that pictures before their sequence header are left out.
func (q *pushing) leaveBare(c flv.FourCC) {
	if !q.bare {
		q.bare = true
		q.pusher.options.Logger.Warn("pictures before their sequence header are left out", "stream", q.stream.Name(), "target", q.target.String(), "codec", c)
	}
}

// write sends whole tags, borrowed until it returns.
func (w *srtWriter) write(p []byte) error {
	for u := range w.split.Units(p) {
		if u.Bare() {
			w.bare(u.Codec)
			continue
		}
		packets, err := w.muxer.Append(&u)
		if err != nil {
			return fmt.Errorf("push: %w", err)
		}
		if _, err := w.to.Write(packets); err != nil {
			return errGone
		}
	}
	if now := time.Now(); now.Sub(w.checked) >= time.Second {
		w.checked = now
		var stats srt.Statistics
		if w.conn.Stats(&stats); stats.Instantaneous.ByteSendBuf > srtconn.MaxBuffer {
			return errBuffer
		}
	}
	return nil
}
