package source

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/dialtls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/rtsp"
)

// Errors of a connection that callers match with errors.Is.
var (
	// ErrRefused: the server answered with a status that is no success.
	ErrRefused = errors.New("source: refused")
	// errAnswer: an answer that makes no sense.
	errAnswer = errors.New("source: not an answer")
	errIdle   = errors.New("source: nothing came in time")
)

// limits bound the messages of a server, which is trusted no more than a peer.
var limits = rtsp.Limits{Line: 8 << 10, Header: 32 << 10, Fields: 128, Body: 64 << 10}

// client is one connection to a server.
type client struct {
	source  *Source
	conn    net.Conn
	r       *sluice.BufReader
	reader  *rtsp.Reader
	idle    time.Duration // longest silence
	auth    *credentials
	cseq    int
	id      string // of the session
	keep    time.Duration
	alive   string // the method that keeps it alive
	renewed bool   // auth, since that succeeded
	base    string // of the tracks' URLs

	intake   *rtpmedia.Intake
	channels map[uint8]int // twice the track, one more for its reports
	tracks   int           // that are set up
}

// pull connects to a source, plays it and gives its frames to publish until it ends or
// ctx is done. publish takes the payload, leftOut what a track is that is left out and why,
// through the servers that the stream comes through.
// The connection must have played by start.
func pull(ctx context.Context, s *Source, o *Options, publish func(live.Frame) error, leftOut func(what string), through func(edge.Way)) error {
	if s.srt != nil {
		return pullSRT(ctx, s, o, publish, leftOut)
	}
	starting, cancel := context.WithTimeout(ctx, o.Start)
	defer cancel()
	for range maxRedirections + 1 {
		err := connect(ctx, starting, s, o, publish, leftOut, through)
		var to redirection
		if !errors.As(err, &to) {
			return err
		}
		if s, err = s.redirected(string(to)); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: more than %d redirections", ErrRefused, maxRedirections)
}

// connect is pull of one server. starting ends when the connection must have played.
func connect(ctx, starting context.Context, s *Source, o *Options, publish func(live.Frame) error, leftOut func(what string), through func(edge.Way)) error {
	socket, err := (&net.Dialer{}).DialContext(starting, "tcp", s.host)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	defer socket.Close()
	stop := context.AfterFunc(ctx, func() { socket.Close() })
	defer stop()
	conn := socket
	if s.secure() {
		if conn, err = dialtls.Client(starting, conn, o.TLS, s.url.Hostname()); err != nil {
			return fmt.Errorf("source: %w", err)
		}
	}
	until, _ := starting.Deadline()
	if err := conn.SetDeadline(until); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	c := &client{source: s, conn: conn, r: sluice.NewBufReader(conn, sluice.Options{Allocator: o.Alloc}), idle: o.Idle, base: s.address(), channels: map[uint8]int{}, alive: rtsp.GetParameter}
	defer c.r.Recycle()
	c.reader = rtsp.NewReader(c.r, limits)
	err = c.begin(o, publish, leftOut, through)
	if c.intake != nil {
		defer c.intake.Close()
	}
	if err != nil {
		return err
	}
	if stop() {
		// From here on the session is ended with a request: cameras have few.
		defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	}
	return c.play(ctx)
}

// begin makes the requests up to PLAY.
func (c *client) begin(o *Options, publish func(live.Frame) error, leftOut func(what string), through func(edge.Way)) error {
	head := rtsp.Header{{Name: "Accept", Value: "application/sdp"}}
	if o.ID != "" {
		head.Add("Via", edge.Path{o.ID}.Header(edge.ViaRTSP)) // RFC 2326, section 12.43
	}
	resp, err := c.ask(rtsp.Describe, c.base, head)
	if err != nil {
		return err
	}
	defer resp.Release()
	way := edge.WayOfHeader(resp.Header.Values("Via"))
	if way.Has(o.ID) {
		return fmt.Errorf("%w: what it has comes from this server", ErrRefused)
	}
	through(way)
	if !resp.Body.Valid() {
		return fmt.Errorf("%w: no description", errAnswer)
	}
	for _, name := range []string{"Content-Base", "Content-Location"} {
		if base := resp.Header.Get(name); base != "" {
			c.base = base
			break
		}
	}
	tracks, err := rtpmedia.Parse(resp.Body.Bytes())
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	if err := c.setUpAll(tracks, o, publish, leftOut); err != nil {
		return err
	}
	played, err := c.ask(rtsp.Play, c.base, rtsp.Header{{Name: "Range", Value: "npt=0.000-"}})
	if err != nil {
		return err
	}
	played.Release()
	return nil
}

// ask makes a request and returns the response, retained. A server that wants a password
// is answered once.
func (c *client) ask(method, address string, h rtsp.Header) (*rtsp.Response, error) {
	for again := false; ; again = true {
		if err := c.send(method, address, h); err != nil {
			return nil, err
		}
		resp, err := c.response()
		if err != nil {
			return nil, fmt.Errorf("source: %s: %w", method, err)
		}
		switch {
		case resp.Status == rtsp.StatusOK:
			return resp, nil
		case resp.Status == rtsp.StatusUnauthorized && !again && c.source.url.User != nil:
			c.auth = challenged(c.source.url.User, resp.Header.Values("WWW-Authenticate"))
		}
		status, reason, to := resp.Status, resp.Reason, resp.Header.Get("Location")
		resp.Release()
		if redirects(status) && to != "" {
			return nil, redirection(to)
		}
		if status != rtsp.StatusUnauthorized || again || c.auth == nil {
			return nil, fmt.Errorf("%w: %s: %d %.60q", ErrRefused, method, status, reason)
		}
	}
}

// send sends a request.
func (c *client) send(method, address string, h rtsp.Header) error {
	c.cseq++
	req := &rtsp.Request{Method: method, URL: address, Header: rtsp.Header{{Name: "CSeq", Value: fmt.Sprint(c.cseq)}, {Name: "User-Agent", Value: "sluice"}}}
	if c.id != "" {
		req.Header.Add("Session", c.id)
	}
	if c.auth != nil {
		req.Header.Add("Authorization", c.auth.header(method, address))
	}
	req.Header = append(req.Header, h...)
	p, err := req.AppendHead(nil)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	if _, err = c.conn.Write(p); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	return nil
}

// response returns the next response. Requests of the server are refused, and frames
// that come before PLAY is answered are taken.
func (c *client) response() (*rtsp.Response, error) {
	const most = 4096
	for range most {
		item, err := c.reader.Read()
		if err != nil {
			return nil, err
		}
		if item.Response != nil {
			if n, err := item.Response.Header.CSeq(); err == nil && int(n) != c.cseq {
				item.Release() // of an earlier request
				continue
			}
			return item.Response, nil
		}
		if err := c.take(item); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: %d messages and none of them", errAnswer, most)
}

// play takes what comes until the connection ends.
func (c *client) play(ctx context.Context) error {
	keep := c.keep
	if keep <= 0 {
		keep = rtsp.DefaultSessionTimeout
	}
	keep = max(keep/2, time.Second)
	next := time.Now().Add(keep)
	report := time.Now().Add(reportEvery)
	heard := time.Now()
	defer c.leave()
	for {
		step := min(keep, c.idle) / 2
		// When reading has come to its deadline there is time to write.
		until := time.Now().Add(step)
		if err := errors.Join(c.conn.SetReadDeadline(until), c.conn.SetWriteDeadline(until.Add(c.idle))); err != nil {
			return fmt.Errorf("source: %w", err)
		}
		if ctx.Err() != nil {
			return ctx.Err() // the deadline that it has set may be gone
		}
		item, err := c.reader.Read()
		now := time.Now()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
		case err != nil:
			return fmt.Errorf("source: %w", err)
		default:
			if item.Response != nil && c.denied(item.Response) {
				next = now
			}
			media := c.isMedia(item)
			if err := c.take(item); err != nil {
				return err
			}
			if media { // reports come from a camera whose encoder stands still too
				heard = time.Now()
			}
		}
		if now.Sub(heard) > c.idle {
			return errIdle
		}
		if !now.Before(next) {
			next = now.Add(keep)
			if err := c.send(c.alive, c.base, nil); err != nil {
				return err
			}
		}
		if now.After(report) {
			report = now.Add(reportEvery)
			if err := c.report(now); err != nil {
				return err
			}
		}
	}
}

// denied takes note of an answer to what keeps the session alive, and reports whether that
// has to be sent again: with another nonce, or as OPTIONS, which all servers know (RFC 2326,
// section 10.1; GET_PARAMETER is optional).
func (c *client) denied(resp *rtsp.Response) bool {
	switch {
	case resp.Status < 400:
		c.renewed = false
	case resp.Status == rtsp.StatusUnauthorized && c.source.url.User != nil:
		auth := challenged(c.source.url.User, resp.Header.Values("WWW-Authenticate"))
		if auth == nil || c.renewed {
			return false
		}
		c.auth, c.renewed = auth, true
		return true
	case c.alive != rtsp.Options:
		c.alive = rtsp.Options
		return true
	}
	return false
}

// reportEvery is the time between two receiver reports.
const reportEvery = 5 * time.Second

// take takes an item, transferred.
func (c *client) take(item rtsp.Item) error {
	if item.Request != nil || item.Response != nil {
		defer item.Release()
		if item.Request == nil {
			return nil
		}
		resp := item.Request.Reply(rtsp.StatusNotImplemented)
		p, err := resp.AppendHead(nil)
		if err == nil {
			_, err = c.conn.Write(p)
		}
		return err
	}
	n, ok := c.channelOf(item)
	switch {
	case !ok || c.intake == nil:
		item.Release()
		return nil
	case n%2 == 1:
		c.intake.Control(n/2, item.Interleaved.Payload.Bytes(), time.Now())
		item.Release()
		return nil
	}
	return c.intake.Push(n/2, item.Interleaved.Payload, time.Now())
}

// channelOf returns what a packet is of, as channels has it.
func (c *client) channelOf(item rtsp.Item) (n int, ok bool) {
	if n, ok = c.channels[item.Interleaved.Channel]; !ok && c.intake != nil {
		n, ok = c.unasked(item.Interleaved.Payload.Bytes())
	}
	return n, ok
}

func (c *client) isMedia(item rtsp.Item) bool {
	if item.Response != nil || item.Request != nil {
		return false
	}
	n, ok := c.channelOf(item)
	return ok && n%2 == 0
}

// report sends receiver reports.
func (c *client) report(now time.Time) error {
	var p []byte
	for channel, n := range c.channels {
		if n%2 == 0 {
			continue
		}
		if r := c.intake.Report(n/2, now); r != nil {
			p = append(append(p, '$', channel, byte(len(r)>>8), byte(len(r))), r...)
		}
	}
	if len(p) == 0 {
		return nil
	}
	_, err := c.conn.Write(p)
	return err
}

// leave says goodbye, without waiting for an answer. An error does not matter any more.
func (c *client) leave() {
	if c.conn.SetWriteDeadline(time.Now().Add(time.Second)) == nil {
		_ = c.send(rtsp.Teardown, c.base, nil)
	}
}

// credentials answer a server's challenge.
type credentials struct {
	user   *url.Userinfo
	params map[string]string
	digest bool
	uses   int // of the nonce
}
