package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/dialtls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/srtconn"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

// errOver means that the stream is over: io.EOF would be what a lost target gives.
var errOver = errors.New("push: the stream is over")

// pushing is one stream on its way to one target.
type pushing struct {
	pusher *Pusher
	stream *live.Stream
	target *Target
	name   string // the stream's name there, with its query
	stop   context.CancelFunc
	said   rtmp.Capabilities // what the target has said of enhanced RTMP; run's goroutine only
	plain  bool              // it was not asked for that; run's goroutine only

	mu     sync.Mutex
	status Status
	retry  retry
}

func (q *pushing) now() Status {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.status
}

// set changes the state, and the error unless it is nil.
func (q *pushing) set(state string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.status.State != state {
		q.status.State, q.status.Since = state, time.Now()
	}
	if err != nil {
		q.status.Error = q.hide(err)
	}
}

// hide returns an error's text without the key, which servers like to repeat.
func (q *pushing) hide(err error) string {
	text := err.Error()
	for _, secret := range q.target.secrets(q.name) {
		if len(secret) > 2 {
			text = strings.ReplaceAll(text, secret, "...")
		}
	}
	return text[:min(len(text), 300)]
}

// run tries again and again until the stream ends or ctx is done.
func (q *pushing) run(ctx context.Context) {
	o := &q.pusher.options
	log := o.Logger.With("stream", q.stream.Name(), "target", q.target.String())
	pause, ok := q.await(ctx)
	if !ok {
		return
	}
	var said reports
	for ; ; pause = min(2*pause, o.RetryMost) {
		q.set(Connecting, nil)
		q.mu.Lock()
		q.status.Tries++
		q.mu.Unlock()
		began := time.Now()
		attempt := q.attempt
		if q.target.srt != nil {
			attempt = q.attemptSRT
		}
		err := attempt(ctx)
		if err == errOver || ctx.Err() != nil || isDone(q.stream) {
			log.Info("push ended", "bytes", q.now().Bytes)
			return
		}
		if q.lives() && time.Since(began) > o.Timeout {
			pause, said = o.Retry, reports{} // it worked for a while
		}
		state := Waiting
		if refused := (*rtmp.StatusError)(nil); errors.As(err, &refused) || errors.Is(err, ErrCodec) || errors.Is(err, srtconn.ErrRejected) || errors.Is(err, errNothing) || err == errItself {
			state = Refused
		}
		q.set(state, err)
		if said.due(state, time.Now()) {
			log.Warn("push failed; it is tried again", "state", state, "tries", q.now().Tries, "error", q.hide(err))
		}
		until := time.Now().Add(o.RetryCodec)
		wait := rest(pause, time.Since(began), o.Retry)
		for q.waits(wait); q.pause(ctx, wait); q.waits(wait) {
			if !errors.Is(err, ErrCodec) || q.plain || time.Now().After(until) || q.taken() {
				break
			}
		}
		if ctx.Err() != nil || isDone(q.stream) {
			return
		}
	}
}

// rest is what is left of a pause between attempts after one that took so long itself: a
// machine that is away answers nothing, and is to be found within 5 s of its return.
func rest(pause, took, least time.Duration) time.Duration { return max(pause-took, least) }

// lives reports whether the target has taken something in the latest attempt.
func (q *pushing) lives() bool {
	state := q.now().State
	return state == Live || state == Behind
}

// waits notes that the next attempt is after a pause.
func (q *pushing) waits(pause time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.retry = retry{pause, time.Now().Add(pause)}
}

// pause reports whether the push should go on after it.
func (q *pushing) pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-q.stream.Done():
	}
	return false
}

func isDone(st *live.Stream) bool {
	select {
	case <-st.Done():
		return true
	default:
		return false
	}
}

// taken reports whether the target takes the stream's codecs as they are now.
func (q *pushing) taken() bool {
	ok := true
	q.stream.Headers(func(kind flv.TagType, body []byte) {
		ok = ok && takes(q.target.enhanced, q.said, kind, body) == nil //sluicevet:ignore the header of body ends with this call
	})
	return ok
}

// offered is what a target is told of enhanced RTMP: nothing when the stream, as far as it
// is known, has only codecs that RTMP had before. Some servers do not understand connect
// with what enhanced RTMP adds to it, and never answer.
func (q *pushing) offered() rtmp.Capabilities {
	known, classic := false, true
	q.stream.Headers(func(kind flv.TagType, body []byte) {
		if kind != flv.TagScript {
			known, classic = true, classic && takes(false, rtmp.Capabilities{}, kind, body) == nil //sluicevet:ignore the header of body ends with this call
		}
	})
	q.plain = known && classic
	if q.plain {
		return rtmp.Capabilities{}
	}
	return rtmp.Capabilities{FourCCs: []string{"*"}}
}

// whileLive returns a context that is done with the stream as well: a target that is not
// connected by then gets nothing.
func (q *pushing) whileLive(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-q.stream.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// attempt pushes by RTMP until the stream ends, which is errOver, or something fails.
func (q *pushing) attempt(ctx context.Context) error {
	o := &q.pusher.options
	waiting, connected := q.whileLive(ctx)
	defer connected()
	conn, err := q.dial(waiting)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	gone := context.AfterFunc(waiting, func() { conn.Close() })
	r := sluice.NewBufReader(conn)
	w := sluice.NewBufWriter(conn)
	if err := w.SetTimeout(o.Timeout); err != nil {
		return err
	}
	c := rtmp.NewConn(r, w, rtmp.Options{Capabilities: q.offered()})
	defer func() {
		c.Recycle()
		r.Recycle()
		w.Recycle()
	}()
	if err := conn.SetReadDeadline(time.Now().Add(o.Timeout)); err != nil {
		return err
	}
	if err := c.ClientHandshake(); err != nil {
		return err
	}
	to := rtmp.ConnectOptions{App: q.target.app, TCURL: q.target.tcURL()}
	if o.Agent != nil {
		to.FlashVer = o.Agent(q.stream)
	}
	if err := c.Connect(to); err != nil {
		return err
	}
	if err := c.Publish(q.name); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if !gone() {
		return errOver
	}
	q.said = c.PeerCapabilities()
	// Frames from before a failure may have a codec that the stream has no more.
	tags, err := q.stream.NewReader(live.ReaderOptions{FromStart: q.now().Tries == 1})
	if err != nil {
		return errOver // meanwhile
	}
	defer tags.Close()
	// What the target says is read on another goroutine; when it ends the
	// connection, ctx is done.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var reading sync.WaitGroup
	reading.Go(func() { cancel(listen(c)) })
	defer reading.Wait()
	defer conn.Close()
	err = q.send(ctx, tags, func(p []byte) error { return q.write(c, p) })
	if err == errOver {
		_ = c.Close() // says that the stream is over; the connection ends anyway
		return err
	}
	conn.Close()
	reading.Wait()
	if status := (*rtmp.StatusError)(nil); errors.As(context.Cause(ctx), &status) {
		return status // which explains why the connection could not be written to
	}
	return err
}

func (q *pushing) dial(ctx context.Context) (net.Conn, error) {
	o := &q.pusher.options
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	calling, called := context.WithTimeout(ctx, callTime)
	conn, err := o.dial(calling, q.target.host)
	called()
	if err != nil || q.target.scheme == "rtmp" {
		return conn, err
	}
	return dialtls.Client(ctx, conn, o.TLS, q.target.name)
}

// listen reads what a target says until it ends the publication.
func listen(c *rtmp.Conn) error {
	for {
		m, err := c.ReadMessage()
		if err != nil {
			return fmt.Errorf("the target ended the connection: %w", err)
		}
		if m.Type == rtmp.TypeCommandAMF0 || m.Type == rtmp.TypeCommandAMF3 {
			if cmd, err := rtmp.ParseCommand(m); err == nil {
				if level, code, text, ok := cmd.Status(); ok && level == "error" {
					m.Release()
					return &rtmp.StatusError{Level: level, Code: code, Description: text}
				}
			}
		}
		m.Release()
	}
}

// behindFor is how long a push counts as behind after frames were left out.
const behindFor = 5 * time.Second

// send sends the stream's tags by write, to which they are lent until it returns.
func (q *pushing) send(ctx context.Context, tags *live.Reader, write func([]byte) error) error {
	var late time.Time
	for {
		p, dropped, err := tags.Next(ctx)
		if err == io.EOF {
			return errOver
		}
		if err != nil {
			return err // of ctx, for example what listen has returned
		}
		if err := write(p); err != nil {
			return err
		}
		if now := time.Now(); dropped > 0 {
			late = now
			q.set(Behind, nil)
		} else if now.Sub(late) >= behindFor {
			q.set(Live, nil)
		}
		q.mu.Lock()
		q.status.Bytes += int64(len(p))
		q.status.Dropped += int64(dropped)
		q.mu.Unlock()
	}
}

// setDataFrame goes before metadata that a publisher sends.
const setDataFrame = "\x02\x00\x0d@setDataFrame"

// write sends whole tags, borrowed until it returns.
func (q *pushing) write(c *rtmp.Conn, p []byte) error {
	for t := range au.Tags(p) {
		if err := takes(q.target.enhanced, q.said, t.Type, t.Body); err != nil { //sluicevet:ignore the header of the body ends with this call
			return err
		}
		body := t.Body
		if t.Type == flv.TagScript {
			body = append([]byte(setDataFrame), body...)
		}
		err := c.WriteMessage(rtmp.Message{Type: rtmp.MessageType(t.Type), StreamID: c.StreamID(), Time: t.Time, Payload: mem.Wrap(body, nil)})
		if err != nil {
			return err
		}
	}
	return c.Flush()
}
