package rtspserver

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtsp"
)

const (
	// maxRequests is how many requests a peer may make before it plays or records.
	// Clients make one for each track and four more, twice with a password.
	maxRequests = 64
	// maxDenied is how many times a peer may be refused for its token.
	maxDenied = 4
	// silence is for how long a viewer over UDP may say nothing, as the Session header
	// tells it (RFC 2326, section 12.37).
	silence = 60 * time.Second
)

// limits bound the messages of a peer. A description has one or two KiB.
var limits = rtsp.Limits{Line: 4 << 10, Header: 16 << 10, Fields: 64, Body: 32 << 10}

var (
	errRequests = fmt.Errorf("%d requests and no media", maxRequests)
)

// peer is one RTSP connection. It publishes or plays one stream.
type peer struct {
	server   *Server
	place    *listen.Arrival
	conn     net.Conn
	address  string     // of the peer: host:port, or listen.Unknown
	udp      netip.Addr // where its media may go to and come from; not valid over TLS and for an unknown peer
	protocol string
	r        *sluice.BufReader
	reader   *rtsp.Reader
	out      *session.Output

	id       string // of the session
	nonce    string // of its challenge
	requests int
	denied   int
	heard    time.Time // when the latest request came
	began    time.Time // to play
	before   int64     // bytes read until then

	play   *playing   // nil: it does not play
	record *recording // nil: it does not publish
}

func newPeer(s *Server, a session.Arrived) *peer {
	x := &peer{
		server: s, place: a.Place, conn: a.Conn, address: a.Address, protocol: session.RTSP,
		r:   &sluice.BufReader{Allocator: s.Alloc},
		out: session.NewOutput(a.Conn, s.Times.Answer),
		id:  random(), nonce: random(),
	}
	if a.Secure {
		x.protocol = session.RTSPS
	} else if from, err := netip.ParseAddrPort(a.Address); err == nil && s.ports != nil {
		x.udp = from.Addr().Unmap()
	}
	x.r.Reset(a.Conn)
	x.reader = rtsp.NewReader(x.r, limits)
	return x
}

// random returns 128 bits that cannot be guessed.
func random() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// close closes the connection, ends what it was used for and releases its buffers.
func (x *peer) close() {
	x.conn.Close()
	x.r.Recycle()
}

// talk takes what the peer sends until the connection ends, and returns why. The first
// request must be complete by deadline.
func (x *peer) talk(deadline time.Time) error {
	stop := context.AfterFunc(x.server.Ctx, x.interrupt)
	defer stop()
	err := x.conn.SetReadDeadline(deadline)
	for err == nil {
		err = x.next()
	}
	err = x.ending(err)
	if x.record != nil {
		x.record.end(err)
	}
	if x.play != nil {
		x.play.end(err)
	}
	return err
}

// interrupt ends a wait for the peer when the server shuts down. Viewers are not
// interrupted: they get the rest of their streams.
func (x *peer) interrupt() { x.conn.SetReadDeadline(time.Unix(1, 0)) }

// ending is the reason why a connection ended, for an error of next.
func (x *peer) ending(err error) error {
	if x.server.Closing() {
		return session.ErrClosing
	}
	return session.PeerError(err)
}

// next takes one message or frame.
func (x *peer) next() error {
	item, err := x.reader.Read()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return x.late()
	}
	if err != nil {
		x.refuseSyntax(err)
		return err
	}
	if x.play != nil && x.play.viewer != nil {
		if session.Floods(x.r.TotalRead()-x.before, x.began) {
			item.Release()
			return session.ErrFloods
		}
	}
	switch {
	case item.Request != nil:
		defer item.Release()
		return x.request(item.Request)
	case item.Response != nil || x.record == nil:
		item.Release() // a viewer's reports
		return nil
	}
	return x.record.interleaved(item.Interleaved)
}

// late is called when a read deadline has passed. nil means: go on.
func (x *peer) late() error {
	switch {
	case x.record != nil && x.record.running():
		return x.record.check()
	case x.play != nil && x.play.viewer != nil && !x.server.Closing():
		if x.play.over() {
			return session.ErrDone
		}
		if x.play.udp != nil && time.Since(x.heard) > silence && time.Since(x.play.udp.heard()) > silence {
			return session.ErrIdle
		}
		return x.conn.SetReadDeadline(time.Now().Add(x.server.Times.Rate))
	case x.play != nil && x.play.viewer != nil:
		// The stream's end ends the viewer.
		<-x.play.viewer.Done()
	}
	return session.ErrIdle
}

// request answers a request, borrowed.
func (x *peer) request(req *rtsp.Request) error {
	x.heard = time.Now()
	if x.requests++; x.requests > maxRequests && !x.running() {
		return errRequests
	}
	resp, err := x.answer(req)
	if resp != nil {
		if wrong := x.write(resp); err == nil {
			err = wrong
		}
	}
	if err != nil {
		return err
	}
	if !x.running() {
		return x.conn.SetReadDeadline(time.Now().Add(x.server.Times.Idle))
	}
	return nil
}

func (x *peer) running() bool {
	return x.play != nil && x.play.viewer != nil || x.record != nil && x.record.running()
}

// answer returns the response to a request; nil when it was sent. An error ends the
// connection.
func (x *peer) answer(req *rtsp.Request) (*rtsp.Response, error) {
	if _, err := req.Header.CSeq(); err != nil {
		return req.Reply(rtsp.StatusBadRequest), err
	}
	if names := required(req.Header); names != "" {
		resp := x.reply(req, rtsp.StatusOptionNotSupported)
		resp.Header.Add("Unsupported", names)
		return resp, nil
	}
	switch req.Method {
	case rtsp.Options:
		resp := x.reply(req, rtsp.StatusOK)
		resp.Header.Add("Public", "OPTIONS, DESCRIBE, ANNOUNCE, SETUP, PLAY, RECORD, PAUSE, TEARDOWN, GET_PARAMETER, SET_PARAMETER")
		return resp, nil
	case rtsp.Describe:
		return x.describe(req)
	case rtsp.Announce:
		return x.announce(req)
	case rtsp.Setup:
		return x.setup(req)
	case rtsp.Play:
		return x.startPlaying(req)
	case rtsp.Record:
		return x.startRecording(req)
	case rtsp.Pause:
		return x.pause(req)
	case rtsp.Teardown:
		if err := x.write(x.reply(req, rtsp.StatusOK)); err != nil {
			return nil, err
		}
		return nil, x.teardown()
	case rtsp.GetParameter, rtsp.SetParameter:
		return x.reply(req, rtsp.StatusOK), nil
	}
	return x.reply(req, rtsp.StatusMethodNotAllowed), nil
}

// required returns the features that a request requires, with commas between them: there
// are none that the server has under a name (RFC 2326, sections 12.27 and 12.32).
func required(h rtsp.Header) string {
	var list []string
	for _, name := range []string{"Require", "Proxy-Require"} {
		for _, field := range h.Values(name) {
			for feature := range strings.SplitSeq(field, ",") {
				if feature = strings.TrimSpace(feature); feature != "" {
					list = append(list, feature)
				}
			}
		}
	}
	return strings.Join(list, ", ")
}

// teardown ends the session. A viewer's answer goes out before its connection is
// closed, so the peer has a moment to close it first.
func (x *peer) teardown() error {
	if x.record != nil {
		if x.record.udp.any() {
			// What was sent before this over UDP may come after it.
			pause := time.NewTimer(lateness)
			defer pause.Stop()
			select {
			case <-pause.C:
			case <-x.server.Ctx.Done():
			}
		}
		return session.ErrEndOfBody
	}
	if x.play != nil && x.play.viewer != nil && x.play.udp == nil {
		x.play.viewer.Pause(true)
		if x.conn.SetReadDeadline(time.Now().Add(lingering)) != nil {
			return session.ErrDone
		}
		for {
			item, err := x.reader.Read()
			if err != nil {
				return session.ErrDone
			}
			item.Release()
		}
	}
	return session.ErrDone
}

// lateness is by how much a datagram may be later than what was sent after it.
const lateness = 100 * time.Millisecond

// lingering is how long a session goes on reading after its last message.
const lingering = 500 * time.Millisecond

// reply returns a response with what each has.
func (x *peer) reply(req *rtsp.Request, status int) *rtsp.Response {
	resp := req.Reply(status)
	resp.Header.Add("Server", "sluice")
	if x.play != nil || x.record != nil {
		resp.Header.Add("Session", rtsp.Session{ID: x.id, Timeout: silence}.String())
	}
	return resp
}

// write sends a response.
func (x *peer) write(resp *rtsp.Response) error {
	p, err := bytesOf(resp)
	if err == nil {
		_, err = x.out.Write(p)
	}
	return err
}

// bytesOf returns a response on the wire. Its body is released.
func bytesOf(resp *rtsp.Response) ([]byte, error) {
	defer resp.Release()
	p, err := resp.AppendHead(nil)
	if err == nil && resp.Body.Valid() {
		p = append(p, resp.Body.Bytes()...)
	}
	return p, err
}

// refuseSyntax answers what is not RTSP, if it was a message at all.
func (x *peer) refuseSyntax(err error) {
	status := 0
	switch {
	case errors.Is(err, rtsp.ErrTooLong):
		status = rtsp.StatusEntityTooLarge
	case errors.Is(err, rtsp.ErrVersion):
		status = rtsp.StatusVersionNotSupported
	case errors.Is(err, rtsp.ErrSyntax):
		status = rtsp.StatusBadRequest
	default:
		return
	}
	// The connection ends anyway.
	_ = x.write(&rtsp.Response{Status: status, Reason: rtsp.StatusText(status)})
}

// refuse answers a request that was not admitted. The connection ends after too many.
func (x *peer) refuse(r session.Role, req *rtsp.Request, info session.Info, err error) (*rtsp.Response, error) {
	x.server.Refused(r, info, err)
	status, reason := session.Refusal(err)
	if errors.Is(err, access.ErrTokenMissing) {
		reason += userRule
	}
	resp := x.reply(req, status)
	if reason != "" {
		resp.Reason = session.Quoted(reason)
	}
	if status != rtsp.StatusUnauthorized {
		return resp, nil
	}
	x.challenge(resp, x.stale(req, r.Action(), info.Stream))
	if x.denied++; x.denied > maxDenied {
		return resp, err
	}
	return resp, nil
}

// info returns the session's Info for a request about a stream, and the rest of the path
// behind the stream's name when that is one of a track.
func (x *peer) info(req *rtsp.Request, action session.Role) (info session.Info, track string, err error) {
	u, err := url.Parse(req.URL)
	if err != nil {
		return info, "", fmt.Errorf("%w: URL %.60q", session.ErrBadRequest, req.URL)
	}
	info = session.Info{Protocol: x.protocol, Address: x.address, Agent: req.Header.Get("User-Agent"), Query: u.Query()}
	path := strings.Trim(u.Path, "/")
	if rest, ok := strings.CutPrefix(path, x.stream()); x.stream() != "" && ok && (rest == "" || rest[0] == '/') {
		path, track = x.stream(), strings.Trim(rest, "/")
	} else if at := strings.LastIndexByte(path, '/'); at >= 0 && rtpmedia.IsTrackPath(path[at+1:]) {
		path, track = path[:at], path[at+1:]
	}
	app, name, _ := strings.Cut(path, "/")
	if info.Stream, err = session.StreamName(app, name); err != nil {
		return info, track, err
	}
	x.credentials(req, action.Action(), &info)
	return info, track, nil
}

// stream is the name of the stream that the connection is about, empty before it is
// known.
func (x *peer) stream() string {
	switch {
	case x.play != nil:
		return x.play.info.Stream
	case x.record != nil:
		return x.record.info.Stream
	}
	return ""
}

// body returns text as a body.
func body(p []byte) mem.Buf { return mem.Wrap(p, nil) }
