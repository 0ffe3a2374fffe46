package rtspserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpfeed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/rtsp"
)

// admitPlay admits the peer as a viewer and finds out what the stream has.
func (x *peer) admitPlay(req *rtsp.Request) (info session.Info, err error) {
	info, _, err = x.info(req, session.RoleViewer)
	if err != nil {
		return info, err
	}
	o, err := session.ParsePlayOptions(info.Query)
	if err != nil {
		return info, err
	}
	// The stream may be waited for.
	ctx, cancel := context.WithCancel(x.server.Ctx)
	defer cancel()
	x.conn.SetReadDeadline(time.Time{})
	st, done, err := x.server.AdmitPlay(ctx, info, o)
	if err != nil {
		return info, err
	}
	x.place.Leave()
	tracks, err := rtpfeed.Probe(ctx, st, o.Wait, au.AssumeLast, rtpmedia.NewFormat)
	if missing := tracks.Missing; len(missing) > 0 {
		x.server.Log.Info("codecs without a form in RTSP are left out", "stream", info.Stream, "address", info.Address, "codecs", fmt.Sprint(missing))
	}
	if others := au.Others(st); len(others) > 0 {
		x.server.Log.Info("RTSP carries the first track of each kind", "stream", info.Stream, "address", info.Address, "left_out", fmt.Sprint(others))
	}
	if err != nil {
		done()
		return info, fmt.Errorf("%w: %s: %w", session.ErrNotFound, info.Stream, err)
	}
	x.play = &playing{info: info, options: o, stream: st, formats: tracks.Formats, absent: tracks.Absent, done: done}
	return info, nil
}

// describe answers DESCRIBE.
func (x *peer) describe(req *rtsp.Request) (*rtsp.Response, error) {
	switch {
	case x.record != nil:
		return x.reply(req, rtsp.StatusMethodNotValid), nil
	case x.play == nil:
		if info, err := x.admitPlay(req); err != nil {
			return x.refuse(session.RoleViewer, req, info, err)
		}
	default: // it changes nothing (RFC 2326, appendix A)
		if info, _, err := x.info(req, session.RoleViewer); err != nil || info.Stream != x.play.info.Stream {
			return x.reply(req, rtsp.StatusMethodNotValid), nil
		}
	}
	text, err := rtpmedia.Describe(x.play.info.Stream, x.play.info.IP().Unmap().Is6(), x.play.formats)
	if err != nil {
		return x.reply(req, rtsp.StatusInternalServerError), err
	}
	resp := x.reply(req, rtsp.StatusOK)
	resp.Header.Add("Content-Type", "application/sdp")
	if len(x.play.info.Via) > 0 {
		resp.Header.Add("Via", x.server.Way(x.play.stream).Header(edge.ViaRTSP))
	}
	if u, err := parseURL(req.URL); err == nil {
		// Without the query: a track's name is appended to this.
		resp.Header.Add("Content-Base", (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()+"/")
	}
	resp.Body = body(text)
	return resp, nil
}

// setup answers SETUP.
func (x *peer) setup(req *rtsp.Request) (*rtsp.Response, error) {
	if x.running() {
		return x.reply(req, rtsp.StatusMethodNotValid), nil
	}
	list, err := rtsp.ParseTransport(strings.Join(req.Header.Values("Transport"), ","))
	if err != nil {
		return x.reply(req, rtsp.StatusBadRequest), nil
	}
	if x.record != nil {
		return x.record.setup(x, req, list)
	}
	if x.play == nil {
		if info, err := x.admitPlay(req); err != nil {
			return x.refuse(session.RoleViewer, req, info, err)
		}
	}
	info, name, err := x.info(req, session.RoleViewer)
	if err != nil || info.Stream != x.play.info.Stream {
		return x.reply(req, rtsp.StatusNotFound), nil
	}
	track, ok := x.play.track(name)
	if !ok {
		return x.reply(req, rtsp.StatusNotFound), nil
	}
	transport, ok := x.transport(list, track)
	if !ok {
		return x.reply(req, rtsp.StatusUnsupportedTransport), nil
	}
	x.play.chosen[track] = true
	resp := x.reply(req, rtsp.StatusOK)
	resp.Header.Add("Transport", transport.String())
	return resp, nil
}

// track returns the number of a track by the name that Describe gave it. A stream's own
// URL means its only track.
func (p *playing) track(name string) (int, bool) {
	if name == "" && len(p.formats) == 1 {
		return 0, true
	}
	for i := range p.formats {
		if name == rtpmedia.TrackPath(i) {
			return i, true
		}
	}
	return 0, false
}

// transport chooses one of the transports that the peer offers, the same for all tracks.
// Over the connection the channels are the server's own choice, so that all viewers can
// be sent the same bytes (RFC 2326, section 10.12, lets the server choose). Over UDP
// packets go to the peer's address only, whatever it asks for.
func (x *peer) transport(list []rtsp.Transport, track int) (rtsp.Transport, bool) {
	p := x.play
	number := 2 * track
	for _, t := range list {
		if t.Protocol != "RTP" || t.Profile != "AVP" || t.Multicast || t.Record() {
			continue
		}
		answer := rtsp.Transport{Protocol: "RTP", Profile: "AVP", Unicast: true}
		switch {
		case t.Lower == "TCP" && p.udp == nil:
			p.tcp = true
			answer.Lower, answer.Interleaved = "TCP", &rtsp.Pair{First: number, Last: number + 1}
			return answer, true
		case t.Lower != "TCP" && !p.tcp && t.ClientPort != nil && t.ClientPort.First > 0 && x.udp.IsValid():
			if p.udp == nil {
				p.udp = x.server.ports.viewer(x.udp)
			}
			p.udp.track(track, &p.formats[track], t.ClientPort)
			answer.ClientPort, answer.ServerPort = t.ClientPort, x.server.ports.pair()
			return answer, true
		}
	}
	return rtsp.Transport{}, false
}

// startPlaying answers PLAY: it makes a viewer, or lets one that has paused go on.
func (x *peer) startPlaying(req *rtsp.Request) (*rtsp.Response, error) {
	p := x.play
	if p == nil || !p.chosen[0] && !p.chosen[1] {
		return x.reply(req, rtsp.StatusMethodNotValid), nil
	}
	resp := x.reply(req, rtsp.StatusOK)
	resp.Header.Add("Range", "npt=now-")
	for _, name := range []string{"Scale", "Speed"} { // what was chosen has to be said (RFC 2326, sections 12.34 and 12.35)
		if _, ok := req.Header.Lookup(name); ok {
			resp.Header.Add(name, "1.0")
		}
	}
	if p.viewer != nil {
		p.viewer.Pause(false)
		return resp, nil
	}
	resp.Header.Add("RTP-Info", p.rtpInfo(req.URL))
	var formats []rtpmedia.Format
	for i, f := range p.formats {
		if !p.chosen[i] {
			continue
		}
		f.Channel = byte(2 * i)
		formats = append(formats, f)
	}
	var err error
	p.feed, err = x.server.feeds.Open(p.stream, formats, rtpfeed.Options{Protocol: session.RTSP, Absent: p.absent, Carries: rtpmedia.NewFormat})
	switch {
	case errors.Is(err, session.ErrFull):
		return x.refuse(session.RoleViewer, req, p.info, err)
	case err != nil:
		return x.reply(req, rtsp.StatusNotFound), err
	}
	how := session.Viewing{Form: live.FormRaw, Trailer: p.feed.Bye(), Why: p.feed.Err, Done: x.viewerDone(p)}
	p.done = nil // how.Done has it
	if p.udp == nil {
		if how.Prelude, err = bytesOf(resp); err != nil {
			how.Done()
			return nil, err
		}
		resp = nil
	}
	x.began, x.before = time.Now(), x.r.TotalRead()
	if p.viewer, err = x.watch(p, how); err != nil {
		return nil, err
	}
	return resp, x.conn.SetReadDeadline(time.Now().Add(x.server.Times.Rate))
}

// watch makes the viewer. On failure how.Done has been called.
func (x *peer) watch(p *playing, how session.Viewing) (*live.Viewer, error) {
	if p.udp != nil {
		how.Received = p.udp.received
		return x.server.Watch(p.udp, p.feed.Stream(), p.info, p.options, how)
	}
	// x.close closes the connection, also when this fails.
	return x.out.HandOver(func() (*live.Viewer, error) {
		return x.server.TryWatch(x.conn, p.feed.Stream(), p.info, p.options, how)
	})
}

// viewerDone returns what is called when the viewer has ended.
func (x *peer) viewerDone(p *playing) func() {
	done := p.done
	return func() {
		p.feed.Release()
		done()
		if p.udp != nil {
			x.interrupt() // over TCP the connection is closed
		}
	}
}

// over reports whether the viewer has ended.
func (p *playing) over() bool {
	select {
	case <-p.viewer.Done():
		return true
	default:
		return false
	}
}

// end ends the session for a reason.
func (p *playing) end(reason error) {
	if p.viewer != nil {
		p.viewer.Close(reason)
		<-p.viewer.Done()
		return
	}
	if p.udp != nil {
		p.udp.Close()
	}
	if p.done != nil {
		p.done()
	}
}

// rtpInfo names the tracks (RFC 2326, section 12.33). With what packet each begins is not
// known yet, since a viewer begins where the stream's newest key frame is: the reports
// before it say the times.
func (p *playing) rtpInfo(base string) string {
	base, _, _ = strings.Cut(base, "?")
	base = strings.TrimSuffix(base, "/")
	if at := strings.LastIndexByte(base, '/'); rtpmedia.IsTrackPath(base[at+1:]) {
		base = base[:max(at, 0)] // PLAY may name one track
	}
	var list []string
	for i := range p.formats {
		if p.chosen[i] {
			list = append(list, "url="+base+"/"+rtpmedia.TrackPath(i))
		}
	}
	return strings.Join(list, ",")
}

// pause answers PAUSE. A publisher's is about what it sends itself: GStreamer's says it
// before TEARDOWN.
func (x *peer) pause(req *rtsp.Request) (*rtsp.Response, error) {
	if !x.running() {
		return x.reply(req, rtsp.StatusMethodNotValid), nil
	}
	if x.play != nil {
		x.play.viewer.Pause(true)
	}
	return x.reply(req, rtsp.StatusOK), nil
}
