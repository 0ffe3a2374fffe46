package hls

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/live"
)

// plainPart is the duration of the fragments in segments that have no parts.
const plainPart = time.Second

// young is for how long a stream is served from its beginning.
const young = 10 * time.Second

// newMuxer makes a muxer and starts it. The server's lock is held.
func (s *Server) newMuxer(source *live.Stream, wait time.Duration) *muxer {
	c := s.Config()
	m := &muxer{server: s, source: source, wait: wait, done: make(chan struct{}), since: time.Now()}
	m.line = newTimeline(limits{
		low: c.HLS == config.HLSLow, segments: c.HLSSegments, bytes: int64(c.HLSBytes), take: s.take, give: s.give, share: s.share,
		before: numbersBefore(m.since),
	})
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(s.Ctx)
	s.running.Go(func() {
		err := contain.Run(s.Log, func() error { return m.run(ctx) })
		if err != nil && ctx.Err() == nil {
			s.Log.Info("HLS ends", "stream", source.Name(), "why", err)
		}
		m.line.end(err)
		close(m.done)
	})
	return m
}

// numbered is since when segments would have been numbered.
var numbered = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// numberEvery is half of the shortest segment that can be set.
const numberEvery = 250 * time.Millisecond

// numbersBefore is how many numbers come before those of a timeline that begins now, more than there can
// have been: at one address they never become less (RFC 8216, section 6.2.2), also where the server begins
// again. A player that has an earlier timeline's playlist would wait until they are above that one's.
// Discontinuities are counted from 0 all the same: hls.js plays nothing where their number is as large.
func numbersBefore(now time.Time) int64 { return int64(max(now.Sub(numbered), 0) / numberEvery) }

// stop ends the muxer and releases its segments.
func (m *muxer) stop() {
	m.cancel()
	m.server.running.Go(func() {
		<-m.done
		m.line.free()
	})
}

// run makes segments until the stream is over, which is no error, or ctx is done.
func (m *muxer) run(ctx context.Context) error {
	c := m.server.Config()
	video, audio, err := m.tracks(ctx)
	if err != nil {
		return err
	}
	// A viewer who came before the stream sees its beginning.
	r, err := m.source.NewReader(live.ReaderOptions{FromStart: time.Since(m.source.Since()) < young})
	if err != nil {
		return err
	}
	defer r.Close()
	partial := plainPart
	if m.line.low {
		partial = c.HLSPart
	}
	cutter := newSegmenter(m.line, m.server.Alloc, video, audio, c.HLSSegment, partial)
	cutter.group = func() int64 { return min(m.source.Stats().GOPTime.Milliseconds(), longestSegment) }
	var s au.Splitter
	cutter.configs = func() [2]*au.Config {
		video, audio := s.Configs()
		return [2]*au.Config{video, audio}
	}
	var latest uint32
	cutter.now = func() time.Time {
		behind := int32(m.source.Stats().LastTime - latest)
		return time.Now().Add(-time.Duration(max(behind, 0)) * time.Millisecond)
	}
	for warned := false; ; {
		tags, _, err := r.Next(ctx)
		if err != nil {
			if err != io.EOF {
				return err
			}
			if !cutter.finish() {
				return errMemory
			}
			return nil
		}
		for u := range s.Units(tags) {
			if latest = u.Time; !cutter.put(&u) {
				return errMemory
			}
			if cutter.still() {
				return errStill
			}
		}
		if !warned && m.line.isShort() {
			warned = true
			m.server.Log.Warn("HLS has no memory for as much of a stream as players need: they may stand still; see hls-bytes, and max-memory", "stream", m.source.Name(), "bytes", m.line.bound())
		}
	}
}

// tracks finds out the tracks that can be carried. Sound that is only announced is one of them, with silence until it begins:
// players that have begun without it do not go on when it comes.
func (m *muxer) tracks(ctx context.Context) (video, audio *au.Config, err error) {
	defer m.server.started()
	video, audio, err = au.Discover(ctx, m.source, m.wait, au.AssumeSound)
	if err != nil {
		return nil, nil, err
	}
	var out, said []string
	for kind, c := range []**au.Config{&video, &audio} {
		if *c == nil {
			continue
		}
		if kind == 0 && len((*c).Record) == 0 && carries((*c).Codec) {
			m.server.Log.Warn("pictures before their sequence header are left out", "stream", m.source.Name(), "protocol", "hls", "codec", (*c).Codec)
			*c = nil
		} else if !hasForm(kind, *c) {
			out, said = append(out, (*c).Codec.String()), append(said, (*c).String())
			*c = nil
		}
	}
	if len(out) > 0 {
		m.server.Log.Warn("codecs that browsers do not play by HLS are left out of it: encode H.264 or AV1, and AAC of up to 5.1 or stereo Opus", "stream", m.source.Name(), "codecs", fmt.Sprint(said))
		m.line.mu.Lock()
		m.leftOut = out
		m.line.mu.Unlock()
	}
	if others := au.Others(m.source); len(others) > 0 {
		m.server.Log.Info("HLS carries the first track of each kind", "stream", m.source.Name(), "left_out", fmt.Sprint(others))
	}
	if video == nil && audio == nil {
		return nil, nil, errNoTracks
	}
	return video, audio, nil
}

// retryAfter is for how long a muxer's error stands before another one is tried.
const retryAfter = 2 * time.Second

// failed reports whether the muxer has ended by an error that may have passed.
func (m *muxer) failed() bool {
	m.line.mu.Lock()
	defer m.line.mu.Unlock()
	return m.line.over && m.line.err != nil && time.Since(m.since) > retryAfter
}

// Status is what the API says of a stream's HLS.
type Status struct {
	Mode     string   `json:"mode"`
	Codecs   string   `json:"codecs"`
	LeftOut  []string `json:"left_out"` // codecs without a form in HLS
	Segments int      `json:"segments"`
	Bytes    int64    `json:"bytes"` // in memory
	Error    string   `json:"error,omitempty"`
}

func (m *muxer) status() Status {
	t := m.line
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Status{Mode: config.HLSPlain, LeftOut: append([]string{}, m.leftOut...), Segments: len(t.all), Bytes: t.held}
	if t.low {
		s.Mode = config.HLSLow
	}
	if n := len(t.inits); n > 0 {
		s.Codecs = t.inits[n-1].codecs
	}
	if t.err != nil {
		s.Error = t.err.Error()
	}
	return s
}
