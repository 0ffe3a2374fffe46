package webrtc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpfeed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/udpline"
	"github.com/sluice-go/sluice/live"
)

const (
	// maxPacket is the longest packet of RTP, its header included: what browsers send,
	// so that it fits wherever a call does, through tunnels and relays too.
	maxPacket = 1200
	// keptPackets is how many packets of pictures are kept to be sent again: a second of
	// 10 Mb/s.
	keptPackets = 1024
	// againEvery is the least time between two beginnings of one viewer who has lost a
	// picture.
	againEvery = time.Second
)

// viewing is a peer's session as a viewer.
type viewing struct {
	*peer
	stream  *live.Stream
	options session.PlayOptions
	feed    *rtpfeed.Feed
	out     *output
	release func() // releases what AdmitPlay counted
	leftOut []string

	mu     sync.Mutex
	viewer *live.Viewer // nil before media can flow
	begun  time.Time    // when it began, or began again
}

// Play admits a viewer and answers its offer. An error is the gate's, matches one of
// package session, ErrOffer or ErrNoCodec.
func (s *Server) Play(ctx context.Context, info session.Info, text []byte) (Answer, error) {
	o, err := parseOffer(text)
	if err != nil {
		return Answer{}, err
	}
	options, err := session.ParsePlayOptions(info.Query)
	if err != nil {
		return Answer{}, err
	}
	if options.Merge < 0 {
		options.Merge = 0 // who plays by WebRTC wants it now
	}
	st, done, err := s.AdmitPlay(ctx, info, options)
	if err != nil {
		return Answer{}, err
	}
	v := &viewing{stream: st, options: options, release: sync.OnceFunc(done)}
	answer, err := v.start(ctx, s, info, o)
	if err != nil {
		v.release()
	}
	return answer, err
}

// start finds out what is sent, and answers.
func (v *viewing) start(ctx context.Context, s *Server, info session.Info, o *offer) (Answer, error) {
	tracks, err := rtpfeed.Probe(ctx, v.stream, v.options.Wait, au.AssumeAll, carries)
	if err != nil && !errors.Is(err, rtpfeed.ErrNoTracks) {
		return Answer{}, fmt.Errorf("%w: %s: %w", session.ErrNotFound, info.Stream, err)
	}
	var chosen []offered
	var sent []rtpmedia.Format
	for _, codec := range tracks.Missing {
		v.leftOut = append(v.leftOut, codec.String())
	}
	for _, f := range tracks.Formats {
		c, ok := o.forStream(f)
		if !ok {
			v.leftOut = append(v.leftOut, f.Codec.String())
			continue
		}
		f.Channel = audioChannel
		if f.Video {
			f.Channel = videoChannel
		}
		chosen, sent = append(chosen, c), append(sent, f)
	}
	if len(sent) == 0 {
		return Answer{}, fmt.Errorf("%w: the stream has %s, the offer takes %s", ErrNoCodec, listed(v.leftOut), o.names(false))
	}
	// A session takes some 100 KB that is not counted.
	if err := s.Room(); err != nil {
		return Answer{}, err
	}
	if v.peer, err = s.newPeer(info, o, slices.Concat(chosen, o.idle(chosen)), false); err != nil {
		return Answer{}, err
	}
	v.feed, err = s.feeds.Open(v.stream, sent, rtpfeed.Options{Protocol: session.WHEP, Packet: maxPacket, Kept: keptPackets, InOrder: true, Absent: o.lacks(tracks.Absent), Carries: carries})
	if err != nil {
		v.pc.Close()
		v.place()
		if !errors.Is(err, session.ErrFull) {
			err = fmt.Errorf("%w: %s has just ended", session.ErrNotFound, info.Stream)
		}
		return Answer{}, err
	}
	v.out = &output{peer: v.peer, line: udpline.New(lineOptions)}
	for _, c := range chosen {
		t := &track{chosen: c, stream: "sluice", line: v.out.line, filled: time.Now(), budget: repairRate}
		t.reception.Begin(c.Clock)
		t.numbers.video, t.numbers.newest = c.Video, func() uint32 { return v.feed.Newest(c.Video) }
		if c.Video {
			t.kept = v.feed.Kept()
			v.out.tracks[videoChannel/2] = t
		} else {
			v.out.tracks[audioChannel/2] = t
		}
	}
	v.connected, v.ended = v.begin, v.finish
	text, err := v.answer(o, v.prepare)
	if err != nil {
		return Answer{}, err
	}
	if others := au.Others(v.stream); len(others) > 0 {
		s.Log.Info("WebRTC carries the first track of each kind", "stream", info.Stream, "address", info.Address, "left_out", fmt.Sprint(others))
	}
	if len(v.leftOut) > 0 {
		s.Log.Info("codecs without a way to this viewer are left out", "stream", info.Stream, "protocol", info.Protocol, "address", info.Address, "codecs", listed(v.leftOut))
	}
	return Answer{ID: v.id, ETag: v.etag, SDP: text, LeftOut: v.leftOut}, nil
}

// listed is a list in a sentence.
func listed(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return fmt.Sprint(slices.Compact(list))
}

// prepare adds the tracks, once the offer is known.
func (v *viewing) prepare() error {
	for _, t := range v.out.tracks {
		if t == nil {
			continue
		}
		sender, err := v.pc.AddTrack(t)
		if err != nil {
			return err
		}
		go t.hear(sender, v.lost)
	}
	return nil
}

// begin makes the viewer: media can flow.
func (v *viewing) begin() {
	viewer, err := v.server.TryWatch(v.out, v.feed.Stream(), v.info, v.options, session.Viewing{Form: live.FormRaw, Why: v.feed.Err, Done: v.release, Received: v.out.received})
	if err != nil {
		v.end(err)
		return
	}
	v.mu.Lock()
	v.viewer, v.begun = viewer, time.Now()
	v.mu.Unlock()
}

// lost is called when the viewer has lost a picture for good. A key frame is asked of a
// publisher who can make one; else the viewer begins again with the newest that there is.
func (v *viewing) lost() {
	v.mu.Lock()
	viewer, now := v.viewer, time.Now()
	due := viewer != nil && now.Sub(v.begun) >= againEvery
	if due {
		v.begun = now
	}
	v.mu.Unlock()
	if !due || v.server.sources.ask(v.info.Stream) {
		return
	}
	viewer.Pause(true)
	viewer.Pause(false)
}

// finish is called at the end.
func (v *viewing) finish(reason error, begun bool) {
	v.mu.Lock()
	viewer := v.viewer
	v.mu.Unlock()
	if viewer != nil {
		viewer.Close(reason)
		<-viewer.Done()
	} else if !begun && !errors.Is(reason, ErrOffer) {
		v.server.Refused(session.RoleViewer, v.info, reason)
	}
	if n := v.feed.LeftOut(); n > 0 {
		v.server.Log.Info("B-frames were left out: players of WebRTC show pictures in the order in which they come", "stream", v.info.Stream, "pictures", n)
	}
	v.feed.Release()
	v.release()
}
