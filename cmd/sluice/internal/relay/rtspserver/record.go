package rtspserver

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtsp"
)

// recording is a peer's session as a publisher.
type recording struct {
	peer      *peer
	info      session.Info
	tracks    []rtpmedia.Track
	intake    *rtpmedia.Intake
	publisher *live.Publisher
	done      func() // releases what AdmitPublish counted

	channels map[uint8]int // tracks by the channel for RTP
	setUp    []bool
	tcp      bool
	udp      []*udpTrack // by track; nil with TCP

	client   *session.Client // nil before RECORD
	watchdog *session.Watchdog
	arrivals chan arrival // of UDP
	failed   bool         // what comes over UDP counts no more; drain's
	bytes    atomic.Int64 // over UDP
	dropped  atomic.Int64 // packets for which there was no room in arrivals
	reported time.Time    // when the latest receiver reports were sent
	over     chan struct{}
	watching sync.WaitGroup

	mu    sync.RWMutex
	err   error // why the frames of UDP could not be published
	ended bool  // nothing more goes into arrivals
}

// reportEvery is the time between two receiver reports: RFC 3550, section 6.2, has 5 s.
const reportEvery = 5 * time.Second

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
	r := &recording{peer: x, info: info, tracks: tracks, channels: map[uint8]int{}, setUp: make([]bool, len(tracks)), udp: make([]*udpTrack, len(tracks)), over: make(chan struct{})}
	r.intake, err = rtpmedia.NewIntake(tracks, x.server.Alloc, x.server.Config().MaxFrame, r.publish)
	if err != nil {
		x.server.Refused(session.RolePublisher, info, err)
		return x.reply(req, rtsp.StatusUnsupportedMediaType), nil
	}
	if r.publisher, r.done, err = x.server.AdmitPublish(x.server.Ctx, info); err != nil {
		return x.refuse(session.RolePublisher, req, info, err)
	}
	for _, t := range tracks {
		if t.Err != nil {
			x.server.Log.Info("a track is left out", "stream", info.Stream, "address", info.Address, "reason", t.Err)
		}
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
		case t.Lower == "TCP" && !r.overUDP():
			pair := t.Interleaved
			if pair == nil || pair.First == pair.Last || r.taken(uint8(pair.First), track) || r.taken(uint8(pair.Last), track) {
				pair = &rtsp.Pair{First: 2 * track, Last: 2*track + 1}
			}
			r.tcp = true
			r.channels[uint8(pair.First)], r.channels[uint8(pair.Last)] = 2*track, 2*track+1
			answer.Lower, answer.Interleaved = "TCP", pair
		case t.Lower != "TCP" && !r.tcp && t.ClientPort != nil && t.ClientPort.First > 0 && x.udp.IsValid():
			u := &udpTrack{recording: r, track: track}
			if err := u.open(x.server.ports, x.udp, t.ClientPort); err != nil {
				continue
			}
			r.udp[track] = u
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
	if u := r.udp[track]; u != nil {
		u.close()
		r.udp[track] = nil
	}
	r.setUp[track] = false
}

// taken reports whether a channel is another track's.
func (r *recording) taken(channel uint8, track int) bool {
	other, ok := r.channels[channel]
	return ok && other/2 != track
}

func (r *recording) overUDP() bool {
	for _, u := range r.udp {
		if u != nil {
			return true
		}
	}
	return false
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
	if u, err := url.Parse(address); err == nil && u.Path != "" {
		return u.Path
	}
	return address
}

// startRecording answers RECORD.
func (x *peer) startRecording(req *rtsp.Request) (*rtsp.Response, error) {
	r := x.record
	if r == nil || r.running() || !r.tcp && !r.overUDP() {
		return x.reply(req, rtsp.StatusMethodNotValid), nil
	}
	r.watchdog = session.NewWatchdog(x.conn, x.server.Times.Rate, x.server.For(r.info.Stream).MinPublishRate)
	r.client = x.server.Begin(session.RolePublisher, r.info)
	r.client.Attach(nil, r.watchdog.Stop)
	r.intake.Bound(x.server.Unfinished.Holder(r.client.Stop).Hold)
	if r.tcp {
		r.client.OnLine(x.conn, nil)
	}
	r.reported = time.Now()
	r.watching.Go(func() {
		select {
		case <-r.publisher.Done():
			r.watchdog.Stop(r.publisher.Err())
		case <-r.over:
		}
	})
	if r.overUDP() {
		r.arrivals = make(chan arrival, maxArrivals)
		for _, u := range r.udp {
			if u != nil {
				u.running.Store(true)
			}
		}
		r.watching.Go(r.drain)
	}
	return x.reply(req, rtsp.StatusOK), nil
}

// running reports whether RECORD was answered.
func (r *recording) running() bool { return r.client != nil }

// publish takes frames of the intake.
func (r *recording) publish(f live.Frame) error {
	if r.client == nil {
		f.Payload.Release()
		return nil
	}
	r.client.Count(flv.TagHeaderLen + f.Payload.Len() + flv.PrevTagSizeLen)
	return r.publisher.Publish(f)
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
	err := r.watchdog.Exclude(func() error { return r.intake.Push(channel/2, f.Payload, now) })
	if err == nil && now.Sub(r.reported) >= reportEvery {
		err = r.report(now)
	}
	return r.frameError(err)
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

// frameError is the error that a session ends with for an error of the intake.
func (r *recording) frameError(err error) error {
	if errors.Is(err, rtpmedia.ErrTooLong) {
		return fmt.Errorf("%w, which is %d bytes: %w", session.ErrFrame, r.peer.server.Config().MaxFrame, err)
	}
	return err
}

// check is called when the read deadline has passed. nil means: go on.
func (r *recording) check() error {
	r.mu.RLock()
	err := r.err
	r.mu.RUnlock()
	if err != nil {
		return err
	}
	if err := r.watchdog.Check(r.peer.r.TotalRead() + r.bytes.Load()); err != nil {
		return cmp.Or(r.publisher.Err(), err)
	}
	return nil
}

// end ends the session for a reason.
func (r *recording) end(reason error) {
	for _, u := range r.udp {
		if u != nil {
			u.close()
		}
	}
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	close(r.over)
	r.watching.Wait()
	r.intake.Close()
	r.publisher.Close()
	if r.client != nil {
		if l := r.intake.Losses(); l.Packets > 0 || r.dropped.Load() > 0 {
			r.peer.server.Log.Info("RTP packets were lost", "stream", r.info.Stream, "address", r.info.Address, "lost", l.Packets, "late", l.Late, "overrun", r.dropped.Load(), "units", l.Units)
		}
		r.client.End(reason)
	}
	r.done()
}

// maxArrivals bounds the packets of one publisher that wait: some 700 KB.
const maxArrivals = 512

// An arrival is a packet that came over UDP.
type arrival struct {
	track  int
	report bool // RTCP
	packet mem.Buf
	at     time.Time
}

// udpTrack is one track of a publisher over UDP.
type udpTrack struct {
	recording *recording
	track     int
	running   atomic.Bool
	ports     *ports
	rtp, rtcp netip.AddrPort // of the peer
}

func (u *udpTrack) open(p *ports, peer netip.Addr, pair *rtsp.Pair) error {
	u.ports = p
	u.rtp, u.rtcp = netip.AddrPortFrom(peer, uint16(pair.First)), netip.AddrPortFrom(peer, uint16(pair.Last))
	if pair.First == pair.Last {
		u.rtcp = netip.AddrPort{}
	}
	err := p.hear(u.rtp, u)
	if err == nil {
		err = p.hear(u.rtcp, u)
	}
	if err != nil {
		u.close()
	}
	return err
}

func (u *udpTrack) close() {
	u.ports.forget(u.rtp, u)
	u.ports.forget(u.rtcp, u)
}

func (u *udpTrack) hearRTP(p []byte, now time.Time)  { u.hear(p, false, now) }
func (u *udpTrack) hearRTCP(p []byte, now time.Time) { u.hear(p, true, now) }

// hear copies a packet, borrowed, for the goroutine that publishes.
func (u *udpTrack) hear(p []byte, report bool, now time.Time) {
	r := u.recording
	if !u.running.Load() || len(p) == 0 {
		return
	}
	r.bytes.Add(int64(len(p)))
	b, err := r.peer.server.Alloc.TryGet(len(p))
	if err != nil {
		r.dropped.Add(1)
		return
	}
	copy(b.Bytes(), p)
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.ended {
		b.Release()
		return
	}
	select {
	case r.arrivals <- arrival{u.track, report, b, now}:
	default:
		b.Release()
		r.dropped.Add(1)
	}
}

// drain publishes what comes over UDP until the session is over, and then what has come
// by that time.
func (r *recording) drain() {
	reports := time.NewTicker(reportEvery)
	defer reports.Stop()
	for {
		select {
		case a := <-r.arrivals:
			r.take(a)
		case now := <-reports.C:
			for _, u := range r.udp {
				if u == nil || !u.rtcp.IsValid() {
					continue
				}
				if p := r.intake.Report(u.track, now); p != nil {
					u.ports.send(1, p, u.rtcp)
				}
			}
		case <-r.over:
			r.rest()
			return
		}
	}
}

// take takes a packet, transferred.
func (r *recording) take(a arrival) {
	switch {
	case r.failed:
		a.packet.Release()
	case a.report:
		r.intake.Control(a.track, a.packet.Bytes(), a.at)
		a.packet.Release()
	default:
		if err := r.intake.Push(a.track, a.packet, a.at); err != nil {
			r.failed = true
			r.fail(err)
		}
	}
}

// rest takes what waits, after which no more comes.
func (r *recording) rest() {
	for {
		select {
		case a := <-r.arrivals:
			r.take(a)
		default:
			return
		}
	}
}

// fail ends the session from the goroutine that publishes.
func (r *recording) fail(err error) {
	err = r.frameError(err)
	r.mu.Lock()
	r.err = err
	r.mu.Unlock()
	r.watchdog.Stop(err)
}
