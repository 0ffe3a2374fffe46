package rtspserver

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtsp"
)

// announce answers ANNOUNCE.
func (x *peer) announce(req *rtsp.Request) (*rtsp.Response, error) {
	if x.play != nil || x.record != nil {
		return x.reply(req, rtsp.StatusMethodNotValid), nil
	}
	info, _, err := x.info(req, session.RolePublisher)
	if err != nil {
		return x.refuse(session.RolePublisher, req, info, err)
	}
	if !req.Body.Valid() {
		return x.reply(req, rtsp.StatusBadRequest), nil
	}
	tracks, err := rtpmedia.Parse(req.Body.Bytes())
	if err != nil {
		return x.refuse(session.RolePublisher, req, info, fmt.Errorf("%w: %w", session.ErrBadRequest, err))
	}
	r := &recording{peer: x, info: info, tracks: tracks, channels: map[uint8]int{}, setUp: make([]bool, len(tracks)), over: make(chan struct{})}
	r.udp.recording, r.udp.tracks = r, make([]*udpTrack, len(tracks))
	r.intake, err = rtpmedia.NewIntake(tracks, x.server.Alloc, x.server.Config().MaxFrame, r.publish)
	if err != nil {
		x.server.Refused(session.RolePublisher, info, err)
		return x.reply(req, rtsp.StatusUnsupportedMediaType), nil
	}
	if r.claim, err = x.server.AdmitPublish(x.server.Ctx, info); err != nil {
		return x.refuse(session.RolePublisher, req, info, err)
	}
	x.place.Leave()
	x.record = r
	return x.reply(req, rtsp.StatusOK), nil
}

// setup answers SETUP of a publisher.
func (r *recording) setup(x *peer, req *rtsp.Request, list []rtsp.Transport) (*rtsp.Response, error) {
	track, ok := r.track(req.URL)
	if !ok {
		return x.reply(req, rtsp.StatusNotFound), nil
	}
	r.leave(track)
	for _, t := range list {
		if t.Protocol != "RTP" || t.Profile != "AVP" || t.Multicast {
			continue
		}
		answer := rtsp.Transport{Protocol: "RTP", Profile: "AVP", Unicast: true, Mode: []string{rtsp.Record}}
		switch {
		case t.Lower == "TCP" && !r.udp.any():
			pair := r.pair(t.Interleaved, track)
			r.tcp = true
			r.channels[uint8(pair.First)], r.channels[uint8(pair.Last)] = 2*track, 2*track+1
			answer.Lower, answer.Interleaved = "TCP", pair
		case t.Lower != "TCP" && !r.tcp && t.ClientPort != nil && t.ClientPort.First > 0 && x.udp.IsValid():
			if err := r.udp.open(track, x.server.ports, x.udp, t.ClientPort); err != nil {
				continue
			}
			answer.ClientPort, answer.ServerPort = t.ClientPort, x.server.ports.pair()
		default:
			continue
		}
		r.setUp[track] = true
		resp := x.reply(req, rtsp.StatusOK)
		resp.Header.Add("Transport", answer.String())
		return resp, nil
	}
	return x.reply(req, rtsp.StatusUnsupportedTransport), nil
}

// leave undoes an earlier SETUP of a track.
func (r *recording) leave(track int) {
	maps.DeleteFunc(r.channels, func(_ uint8, channel int) bool { return channel/2 == track })
	r.tcp = len(r.channels) > 0
	r.udp.leave(track)
	r.setUp[track] = false
}

// pair returns the channels of a track: those that the client asks for, which may be nil, or where another has one of them
// the first two from the track's usual ones on that are free.
func (r *recording) pair(asked *rtsp.Pair, track int) *rtsp.Pair {
	for pair, next := asked, 2*track; ; next += 2 {
		if pair != nil && pair.First != pair.Last && !r.taken(uint8(pair.First), track) && !r.taken(uint8(pair.Last), track) {
			return pair
		}
		next &= 0xff // there are fewer tracks than channels
		pair = &rtsp.Pair{First: next, Last: next + 1}
	}
}

// taken reports whether a channel is another track's.
func (r *recording) taken(channel uint8, track int) bool {
	other, ok := r.channels[channel]
	return ok && other/2 != track
}

// track returns the track that a SETUP is about: by the URL that the description gives
// it, of several the next one, or that which was set up already; else the next one.
func (r *recording) track(address string) (int, bool) {
	named, next := -1, -1
	for i, t := range r.tracks {
		if t.Control != "" && (address == t.Control || strings.HasSuffix(path(address), "/"+t.Control)) {
			if !r.setUp[i] {
				return i, true
			}
			named = i
		}
		if next < 0 && !r.setUp[i] {
			next = i
		}
	}
	if named >= 0 {
		return named, true
	}
	return max(next, 0), next >= 0
}

// path is the path of a URL, or all of it.
func path(address string) string {
	if u, err := parseURL(address); err == nil && u.Path != "" {
		return u.Path
	}
	return address
}

// startRecording answers RECORD, which comes again after PAUSE.
func (x *peer) startRecording(req *rtsp.Request) (*rtsp.Response, error) {
	r := x.record
	if r == nil || !r.tcp && !r.udp.any() {
		return x.reply(req, rtsp.StatusMethodNotValid), nil
	}
	if r.running() {
		return x.reply(req, rtsp.StatusOK), nil
	}
	r.watchdog = session.NewWatchdog(x.conn, x.server.PublisherTimes(r.info.Stream), x.server.For(r.info.Stream).MinPublishRate)
	r.client = x.server.Begin(session.RolePublisher, r.info)
	r.client.Attach(nil, r.watchdog.Stop)
	for _, t := range r.tracks {
		if t.Err != nil {
			r.leaveOut(t.Err.Error())
		}
	}
	r.intake.OnLeftOut(r.leaveOut)
	r.intake.Bound(x.server.Unfinished.Holder(r.client.Stop).Hold)
	if r.tcp {
		r.client.OnLine(x.conn, nil)
	}
	r.reported = time.Now()
	r.claim.OnDone(r.watchdog.Stop)
	if r.udp.any() {
		r.udp.begin()
		r.watching.Go(r.udp.drain)
	}
	return x.reply(req, rtsp.StatusOK), nil
}

// leaveOut says of a track what it is, or why it is left out.
func (r *recording) leaveOut(track string) {
	r.client.AlsoLeaveOut(track)
	r.peer.server.Log.Info("a track is left out", "stream", r.info.Stream, "address", r.info.Address, "track", track)
}

// publish takes frames of the intake.
func (r *recording) publish(f live.Frame) error {
	if r.client == nil {
		f.Payload.Release()
		return nil
	}
	r.client.Count(flv.TagHeaderLen + f.Payload.Len() + flv.PrevTagSizeLen)
	return r.claim.Publish(f)
}

// interleaved takes a frame of the connection, transferred. Those on channels that were
// never set up are dropped; the least rate counts them, but no stream has them.
func (r *recording) interleaved(f rtsp.Interleaved) error {
	channel, ok := r.channels[f.Channel]
	if !ok || !r.running() {
		f.Release()
		return nil
	}
	now := time.Now()
	if channel%2 == 1 {
		r.intake.Control(channel/2, f.Payload.Bytes(), now)
		f.Release()
		return nil
	}
	err := r.watchdog.Exclude(func() error { return r.push(channel/2, f.Payload, now) })
	if err == nil && now.Sub(r.reported) >= reportEvery {
		err = r.report(now)
	}
	return r.frameError(err)
}

// push publishes what there is with a packet, transferred.
func (r *recording) push(track int, packet mem.Buf, now time.Time) error {
	return contain.Run(r.peer.server.Log, func() error { return r.intake.Push(track, packet, now) })
}

// report sends receiver reports over the connection.
func (r *recording) report(now time.Time) error {
	r.reported = now
	var p []byte
	for channel, n := range r.channels {
		if n%2 == 0 {
			continue
		}
		if report := r.intake.Report(n/2, now); report != nil {
			p = append(append(p, '$', channel, byte(len(report)>>8), byte(len(report))), report...)
		}
	}
	if p == nil {
		return nil
	}
	_, err := r.peer.out.Write(p)
	return err
}

// check is called when the read deadline has passed. nil means: go on.
func (r *recording) check() error {
	if err := r.udp.failure(); err != nil {
		return err
	}
	if err := r.watchdog.Check(r.peer.r.TotalRead() + r.udp.bytes.Load()); err != nil {
		return cmp.Or(r.claim.Err(), err)
	}
	return nil
}

// end ends the session for a reason.
func (r *recording) end(reason error) {
	r.udp.end()
	close(r.over)
	r.watching.Wait()
	r.claim.OnDone(nil)
	r.intake.Close()
	r.claim.Close()
	if r.client != nil {
		if l := r.intake.Losses(); l.Packets > 0 || r.udp.dropped.Load() > 0 {
			r.peer.server.Log.Info("RTP packets were lost", "stream", r.info.Stream, "address", r.info.Address, "lost", l.Packets, "late", l.Late, "overrun", r.udp.dropped.Load(), "units", l.Units)
		}
		r.client.End(reason)
	}
	r.claim.Release()
}
