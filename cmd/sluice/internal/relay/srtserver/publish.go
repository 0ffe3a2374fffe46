package srtserver

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/tsmedia"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// publish admits a request as a publisher and serves its connection.
func (s *Server) publish(req srt.ConnRequest, info session.Info) {
	ctx, cancel := s.admission()
	claim, err := s.AdmitPublish(ctx, info)
	cancel()
	if err != nil {
		s.refuse(req, session.RolePublisher, info, err)
		return
	}
	defer claim.Release()
	conn, err := req.Accept()
	if err != nil {
		s.Refused(session.RolePublisher, info, err)
		return
	}
	c := s.Begin(session.RolePublisher, info)
	w := &watched{guarded: s.guard.add(req, conn, session.RolePublisher), over: make(chan struct{})}
	defer s.guard.remove(w.guarded)
	c.Attach(nil, w.stop)
	claim.OnDone(w.stop)
	var watching sync.WaitGroup
	watching.Go(func() { w.watch(s.PublisherTimes(info.Stream), s.For(info.Stream).MinPublishRate) })
	holder := s.Unfinished.Holder(c.Stop)
	media := tsmedia.Options{
		Hold:     holder.Hold,
		Alloc:    s.Alloc,
		MaxFrame: s.Config().MaxFrame,
		Publish: func(f live.Frame) error {
			c.Count(flv.TagHeaderLen + f.Payload.Len() + flv.PrevTagSizeLen)
			return claim.Publish(f)
		},
		Exclude: w.exclude,
		Media:   func(bytes int) { w.media.Add(int64(bytes)) },
		LeftOut: func(codec string) {
			c.AlsoLeaveOut(codec)
			s.Log.Info("a track is left out", "stream", info.Stream, "address", info.Address, "codec", codec)
		},
	}
	err = contain.Run(s.Log, func() error { return tsmedia.Read(w, media) })
	_ = holder.Hold(0)
	close(w.over)
	conn.Close()
	watching.Wait()
	claim.OnDone(nil)
	if errors.Is(err, tsmedia.ErrTooLong) {
		err = fmt.Errorf("%w, which is %d bytes: %w", session.ErrFrame, s.Config().MaxFrame, err)
	}
	err = w.why(err)
	var stats srt.Statistics
	conn.Stats(&stats)
	if lost := stats.Accumulated.PktRecvDrop; lost > 0 || stats.Accumulated.PktRecvLoss > 0 {
		s.Log.Info("SRT packets were lost on the way", "stream", info.Stream, "address", info.Address, "sent_again", stats.Accumulated.PktRecvRetrans, "late", stats.Accumulated.PktRecvBelated, "dropped", lost)
	}
	claim.Close()
	c.End(session.PeerError(err))
}

// watched is a publisher's connection, whose own deadlines do nothing.
type watched struct {
	*guarded
	bytes   atomic.Int64
	media   atomic.Int64 // bytes of it: a sender of a constant rate fills up with packets of nothing
	busy    atomic.Int64 // ns for which the stream was waited for
	waiting atomic.Bool  // for the stream
	over    chan struct{}
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.bytes.Add(int64(n))
	if err != nil && n == 0 {
		err = io.EOF
	}
	return n, err
}

// exclude runs what may wait for the stream: that is not the peer's silence.
func (w *watched) exclude(f func() error) error {
	began := time.Now()
	w.waiting.Store(true)
	err := f()
	w.waiting.Store(false)
	w.busy.Add(int64(time.Since(began)))
	return err
}

// watch enforces a publisher's limits, until the session is over: no silence, and a least
// rate.
func (w *watched) watch(t session.Times, least int) {
	ticker := time.NewTicker(min(t.Step, t.Silence/8))
	defer ticker.Stop()
	heard, at := int64(0), time.Now()
	before, began, busy := int64(0), time.Now(), int64(0) // of media
	for {
		select {
		case <-w.over:
			return
		case <-ticker.C:
		}
		now, total := time.Now(), w.bytes.Load()
		if total > heard || w.waiting.Load() {
			heard, at = total, now
		}
		window := now.Sub(began) - time.Duration(w.busy.Load()-busy)
		switch {
		case now.Sub(at) >= t.Silence:
			w.stop(session.Silent(t.Silence))
		case window >= t.Rate:
			media := w.media.Load()
			if float64(media-before) < float64(least)*window.Seconds() {
				w.stop(session.TooSlow(least, t.Rate))
			}
			before, began, busy = media, now, w.busy.Load()
		}
	}
}
