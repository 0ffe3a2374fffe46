package edge

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/brief"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/dialtls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/ingest"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/rtmp"
)

// pullRTMP pulls over RTMP until the origin ends it, or deliver does.
func (q *pulling) pullRTMP(ctx context.Context, deliver func(live.Frame) error) error {
	conn, err := q.puller.dialRTMP(ctx, q.from)
	if err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	r := sluice.NewBufReader(brief.Conn(conn))
	defer r.Recycle()
	if err := r.SetTimeout(q.puller.options.Idle); err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	w := sluice.NewBufWriter(conn)
	defer w.Recycle()
	// Writes are short, so one timeout is enough.
	if err := w.SetTimeout(q.puller.options.Idle); err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	c := rtmp.NewConn(r, w, rtmp.Options{Limits: rtmp.Limits{Message: q.puller.options.MaxFrame, Data: q.puller.options.MaxFrame}})
	defer c.Recycle()
	app, tcURL, name := q.from.rtmpNames(q.stream)
	if err := c.ClientHandshake(); err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	if err := c.Connect(rtmp.ConnectOptions{App: app, TCURL: tcURL, FlashVer: q.asks.FlashVer(player)}); err != nil {
		return refused(err, false)
	}
	if err := c.Play(name); err != nil {
		return refused(err, true)
	}
	q.answers()
	for {
		m, err := c.ReadMessage()
		if err != nil {
			return fmt.Errorf("edge: %w", err)
		}
		if m.Type == rtmp.TypeCommandAMF0 || m.Type == rtmp.TypeCommandAMF3 {
			err := q.status(m)
			m.Release()
			if err != nil {
				return err
			}
			continue
		}
		f, ok := ingest.Frame(m)
		if !ok {
			continue
		}
		if err := deliver(f); err != nil {
			return err
		}
	}
}

// dialRTMP connects to the origin, with TLS for rtmps.
func (p *Puller) dialRTMP(ctx context.Context, from *Origin) (net.Conn, error) {
	conn, err := p.dial(ctx, "tcp", from.host)
	if err != nil || !from.Secure() {
		return conn, err
	}
	return dialtls.Client(ctx, conn, p.options.TLS, from.name)
}

// refused converts an origin's refusal into an error of this package. Servers use
// different codes, so in the answer to play every refusal but one means that the
// stream is not available.
func refused(err error, play bool) error {
	var s *rtmp.StatusError
	if !errors.As(err, &s) {
		return fmt.Errorf("edge: %w", err)
	}
	switch {
	case s.Code == rtmp.PlayStreamNotFound:
		return fmt.Errorf("%w: %s", ErrNotFound, s.Description)
	case play, s.Code == "NetConnection.Connect.Rejected", s.Code == "NetConnection.Connect.InvalidApp":
		return fmt.Errorf("%w: %s %s", ErrDenied, s.Code, s.Description)
	}
	return fmt.Errorf("edge: %w", err)
}

// status returns an error when a command, borrowed, ends the stream.
func (q *pulling) status(m rtmp.Message) error {
	cmd, err := rtmp.ParseCommand(m)
	if err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	level, code, description, ok := cmd.Status()
	if !ok {
		return nil
	}
	switch code {
	case StatusVia:
		return q.comes(Way(pathOfNames(description)))
	case rtmp.PlayStreamNotFound:
		return fmt.Errorf("%w: %s", ErrNotFound, description)
	case "NetStream.Play.UnpublishNotify", "NetStream.Play.Stop", "NetStream.Play.Complete":
		return errOver
	}
	if level == "error" {
		return fmt.Errorf("edge: the origin says %s: %s", code, description)
	}
	return nil
}
