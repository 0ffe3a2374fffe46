package push

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/dialtls"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

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
	q.awaitHeaders(waiting)
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

// headersTime is how long a push waits for the first sound or picture of its stream.
const headersTime = time.Second

// awaitHeaders waits until something is known of the stream's codecs, which decide what connect
// says: the push begins with the stream, before its first tag has come.
func (q *pushing) awaitHeaders(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, headersTime)
	defer cancel()
	tags, err := q.stream.NewReader(live.ReaderOptions{FromStart: true})
	if err != nil {
		return // it has ended
	}
	defer tags.Close()
	for known := false; !known && err == nil; {
		q.stream.Headers(func(kind flv.TagType, _ []byte) { known = known || kind != flv.TagScript })
		if !known {
			_, _, err = tags.Next(ctx)
		}
	}
}

// offered is what connect says of enhanced RTMP: nothing when the stream, as far as it
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

// taken reports whether the target takes the stream's codecs as they are now.
func (q *pushing) taken() bool {
	ok := true
	q.stream.Headers(func(kind flv.TagType, body []byte) {
		ok = ok && takes(q.target.enhanced, q.said, kind, body) == nil //sluicevet:ignore the header of body ends with this call
	})
	return ok
}

// write sends whole tags, borrowed until it returns.
func (q *pushing) write(c *rtmp.Conn, p []byte) error {
	for t := range au.Tags(p) {
		if err := takes(q.target.enhanced, q.said, t.Type, t.Body); err != nil { //sluicevet:ignore the header of the body ends with this call
			return err
		}
		body := t.Body
		if t.Type == flv.TagScript && len(body) > rtmp.MaxMessageLength-len(setDataFrame) {
			continue // no message has as many bytes
		}
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

// setDataFrame goes before metadata that a publisher sends.
const setDataFrame = "\x02\x00\x0d@setDataFrame"
