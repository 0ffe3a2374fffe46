package webrtc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/pion/rtp"
	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

const (
	// repairTime is for how long packets are held for one that was asked for again.
	repairTime = 400 * time.Millisecond
)

// Publish admits a publisher and answers its offer. An error is as of Play.
func (s *Server) Publish(ctx context.Context, info session.Info, text []byte) (Answer, error) {
	o, err := parseOffer(text)
	if err != nil {
		return Answer{}, err
	}
	x := &publishing{started: make(chan struct{})}
	tracks := []rtpmedia.Track{}
	for i, kind := range []string{"pictures", "sound"} {
		video := i == 0
		if f, ok := o.fromClient(video); ok {
			x.chosen = append(x.chosen, f)
			tracks = append(tracks, rtpmedia.Track{Format: f.Format})
		} else if o.sends(video) {
			return Answer{}, fmt.Errorf("%w for %s: the offer sends %s; H.264, HEVC, AV1, VP9, Opus and G.711 are taken", ErrNoCodec, kind, o.names(true))
		}
	}
	if len(tracks) == 0 {
		return Answer{}, fmt.Errorf("%w: the offer sends nothing", ErrNoCodec)
	}
	if x.claim, err = s.AdmitPublish(ctx, info); err != nil {
		return Answer{}, err
	}
	if x.intake, err = rtpmedia.NewIntake(tracks, s.Alloc, s.Config().MaxFrame, x.publish); err != nil {
		x.claim.Release()
		return Answer{}, fmt.Errorf("%w: %w", ErrNoCodec, err)
	}
	x.intake.Repair(repairTime)
	if x.peer, err = s.newPeer(info, o, x.chosen, true); err != nil {
		x.intake.Close()
		x.claim.Release()
		return Answer{}, err
	}
	x.connected, x.ended = x.begin, x.finish
	answer, err := x.answer(o, x.prepare)
	if err != nil {
		return Answer{}, err
	}
	return Answer{ID: x.id, ETag: x.etag, SDP: answer}, nil
}

// prepare is called when the offer is known.
func (x *publishing) prepare() error {
	x.pc.OnTrack(func(t *pion.TrackRemote, r *pion.RTPReceiver) {
		for i, f := range x.chosen {
			if f.Video != (t.Kind() == pion.RTPCodecTypeVideo) {
				continue
			}
			// The library reports tracks in any order, also those of which nothing comes.
			buf := make([]byte, readSize)
			n, _, err := t.Read(buf)
			switch {
			case err != nil:
				return
			case int(buf[1]&0x7f) == f.rtx:
				// The library puts these in their place only where the offer names their source.
				if x.takesRepairs(i) {
					x.receive(i, t, buf, n, true)
				}
				return
			case !x.takes(i, t.SSRC()):
				return
			}
			go x.hear(i, r)
			x.receive(i, t, buf, n, false)
			return
		}
	})
	return nil
}

// takes reports whether packets of a source are those of a track: of several of a kind the
// first that sends is taken. Then two goroutines read.
func (x *publishing) takes(number int, from pion.SSRC) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.heard[number] != 0 {
		return false
	}
	x.reading.Add(2)
	x.heard[number] = from
	return true
}

// takesRepairs reports whether a source is that of a track's packets that are sent again: the first is, since a client
// can send from as many as it likes. Then a goroutine reads.
func (x *publishing) takesRepairs(number int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.repaired[number] {
		return false
	}
	x.reading.Add(1)
	x.repaired[number] = true
	return true
}

// begin registers the publisher: media can flow.
func (x *publishing) begin() {
	s := x.server
	c := s.Begin(session.RolePublisher, x.info)
	c.Attach(nil, x.end)
	x.claim.OnDone(x.end)
	x.mu.Lock()
	x.watchdog = session.WatchIngest(x.peer, s.PublisherTimes(x.info.Stream), s.For(x.info.Stream).MinPublishRate)
	x.keyed = time.Now()
	x.intake.Bound(s.Unfinished.Holder(c.Stop).Hold)
	x.intake.OnLeftOut(c.AlsoLeaveOut)
	x.mu.Unlock()
	x.client.Store(c)
	close(x.started)
	s.sources.add(x.info.Stream, x)
	x.reading.Add(1)
	go x.watch()
}

// watch ends the session when it sends nothing or too little, and asks for key frames.
func (x *publishing) watch() {
	defer x.reading.Done()
	keys := time.NewTicker(keyPause)
	defer keys.Stop()
	for {
		select {
		case <-x.silence.C:
			x.mu.Lock()
			err := x.watchdog.Check(x.bytes.Load())
			x.mu.Unlock()
			if err != nil {
				x.end(err)
			}
		case now := <-keys.C:
			x.mu.Lock()
			due := now.Sub(x.keyed) >= keyEvery
			x.mu.Unlock()
			if due {
				x.askKey(now)
			}
		case <-x.peer.done:
			return
		}
	}
}

// receive takes the packets of a track until it ends, or those of it that are sent again. The first n bytes of buf
// are the first.
func (x *publishing) receive(number int, t *pion.TrackRemote, buf []byte, n int, again bool) {
	defer x.reading.Done()
	select {
	case <-x.started:
	case <-x.peer.done:
		return
	}
	for err := error(nil); err == nil; n, _, err = t.Read(buf) {
		x.bytes.Add(int64(n))
		if again {
			if n = x.original(number, buf[:n]); n == 0 {
				continue
			}
		}
		packet, err := x.server.Alloc.TryGet(n)
		if err != nil {
			continue // no memory: lost, as on the way
		}
		copy(packet.Bytes(), buf[:n])
		now := time.Now()
		x.mu.Lock()
		err = x.watchdog.Exclude(func() error {
			return contain.Run(x.server.Log, func() error { return x.intake.Push(number, packet, now) })
		})
		lost := x.intake.Losses().Units
		broken := lost > x.units
		x.units = lost
		x.mu.Unlock()
		if err != nil {
			x.end(x.frameError(err))
			return
		}
		if broken {
			x.askKey(now)
		}
	}
}

// original puts the packet of a track in place of p, in which it is sent again (RFC 4588, section 4), and returns its
// length; 0: there is none, as in packets by which a client measures its line.
func (x *publishing) original(number int, p []byte) int {
	x.mu.Lock()
	source := x.heard[number]
	x.mu.Unlock()
	var h rtp.Header
	head, err := h.Unmarshal(p)
	padding := 0
	if h.Padding {
		padding = int(p[len(p)-1])
	}
	const sequence = 2 // bytes
	if err != nil || source == 0 || len(p) <= head+sequence+padding {
		return 0
	}
	p[1] = p[1]&0x80 | x.chosen[number].PayloadType
	copy(p[2:], p[head:head+sequence])
	binary.BigEndian.PutUint32(p[8:], uint32(source))
	return head + copy(p[head:], p[head+sequence:])
}

// frameError is the error that the session ends with for one of the intake.
func (x *publishing) frameError(err error) error {
	if errors.Is(err, rtpmedia.ErrTooLong) {
		return fmt.Errorf("%w, which is %d bytes: %w", session.ErrFrame, x.server.Config().MaxFrame, err)
	}
	return err
}

// hear takes the reports on a track until it ends.
func (x *publishing) hear(number int, r *pion.RTPReceiver) {
	defer x.reading.Done()
	buf := make([]byte, readSize)
	for {
		n, _, err := r.Read(buf)
		if err != nil {
			return
		}
		x.mu.Lock()
		x.intake.Control(number, buf[:n], time.Now())
		x.mu.Unlock()
	}
}

// publish takes the frames of the intake, which is locked.
func (x *publishing) publish(f live.Frame) error {
	if f.Type == flv.TagVideo {
		if h, err := flv.ParseVideo(f.Payload.Bytes()); err == nil && h.Key() && !h.Config() {
			x.keyed = time.Now()
		}
	}
	x.client.Load().Count(flv.TagHeaderLen + f.Payload.Len() + flv.PrevTagSizeLen)
	return x.claim.Publish(f)
}

// finish is called at the end, when the connection is closed.
func (x *publishing) finish(reason error, _ bool) {
	x.server.sources.remove(x.info.Stream, x)
	x.claim.Close() // before what reads: it may wait for room
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.reading.Wait()
	x.mu.Lock()
	losses := x.intake.Losses()
	x.intake.Close()
	x.mu.Unlock()
	if c := x.client.Load(); c != nil {
		if losses.Packets > 0 {
			x.server.Log.Info("RTP packets were lost", "stream", x.info.Stream, "address", x.info.Address, "lost", losses.Packets, "late", losses.Late, "units", losses.Units)
		}
		c.End(reason)
	} else if !errors.Is(reason, ErrOffer) {
		x.server.Refused(session.RolePublisher, x.info, reason)
	}
	x.claim.Release()
}
