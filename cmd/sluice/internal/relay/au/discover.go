package au

import (
	"cmp"
	"context"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

const (
	// discoverTime is for how long a stream is read to find out its tracks, from its first frame on.
	discoverTime = 3 * time.Second
	// discoverMore is how long a second track is waited for when one is known, and neither a header says
	// that there is another nor the metadata that there is none; and one that may be assumed.
	discoverMore = 500 * time.Millisecond
)

// Discover finds out the tracks of a stream from its frames: their configurations, with
// the codec alone when nothing more is known, and nil for a track that there is not. It
// waits for the first frame until ctx is done, at most for wait or 3 s, and for others 3 s from
// then on. The newest sequence headers count: of a publisher who has just come there may be no frame
// to begin at, and before it those of another. assume, nil for none, says what tracks there are
// of which nothing has come. An error is live.ErrClosed.
func Discover(ctx context.Context, source *live.Stream, wait time.Duration, assume Assume) (video, audio *Config, err error) {
	var frames Splitter
	if video, audio, err = ofFrames(ctx, source, max(wait, discoverTime), assume, &frames); err != nil {
		return nil, nil, err
	}
	s := Splitter{main: frames.main} // of other tracks no header counts
	source.Headers(func(typ flv.TagType, body []byte) {
		_, _, _ = s.Split(typ, 0, body) //sluicevet:ignore a header has no unit, and its configuration is a copy
	})
	newVideo, newAudio := s.Configs()
	if video != nil && newVideo != nil && !(newVideo.unsequenced() && video.Codec == newVideo.Codec) {
		video = newVideo
	}
	if audio != nil && newAudio != nil && !newAudio.lessThan(audio) {
		audio = newAudio
	}
	return video, audio, nil
}

// hasSoundHeader reports whether a stream has a sequence header of sound. It keeps none of a codec that is over.
func hasSoundHeader(source *live.Stream) (has bool) {
	source.Headers(func(typ flv.TagType, _ []byte) { has = has || typ == flv.TagAudio })
	return has
}

// ofFrames is Discover by the frames that there are, which s splits.
func ofFrames(ctx context.Context, source *live.Stream, wait time.Duration, assume Assume, s *Splitter) (video, audio *Config, err error) {
	r, err := source.NewReader(live.ReaderOptions{})
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	first, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tags, _, err := r.Next(first)
	ctx, cancel = context.WithTimeout(ctx, discoverTime)
	defer cancel()
	said := announcedBy(source, assume)
	shorter := false
	for ; err == nil; tags, _, err = r.Next(ctx) {
		for u := range s.Units(tags) {
			c := u.Config
			if c == nil {
				c = &Config{Codec: u.Codec}
			}
			if u.Video {
				video = c
			} else {
				audio = c
			}
		}
		if audio != nil && len(audio.Record) > 0 && !hasSoundHeader(source) {
			continue // it is another one by now, which comes
		}
		missing := video == nil && said.video || audio == nil && said.audio
		if video != nil && audio != nil || said.all && !missing {
			return video, audio, nil
		}
		assumed := !(said.last && video == nil) && (video != nil || !said.video || said.videoConfig != nil) && (audio != nil || !said.audio || said.audioConfig != nil)
		if assumed && !shorter && (video != nil || audio != nil) {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, discoverMore)
			defer stop()
			shorter = true
		}
	}
	if video != nil || audio != nil { // what is known by now counts
		video, audio = cmp.Or(video, said.videoConfig), cmp.Or(audio, said.audioConfig)
	}
	return video, audio, nil
}
