package au

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

const (
	// discoverTime is for how long a stream is read to find out its tracks, from its first frame on.
	discoverTime = 3 * time.Second
	// discoverMore is how long a second track is waited for when one is known, and neither a header says
	// that there is another nor the metadata that there is none.
	discoverMore = 500 * time.Millisecond
)

// Discover finds out the tracks of a stream from its frames: their configurations, with
// the codec alone when nothing more is known, and nil for a track that there is not. It
// waits for the first frame until ctx is done, at most for wait or 3 s, and for others 3 s from
// then on. The newest sequence headers count: of a publisher who has just come there may be no frame
// to begin at, and before it those of another. An error is live.ErrClosed.
func Discover(ctx context.Context, source *live.Stream, wait time.Duration) (video, audio *Config, err error) {
	if video, audio, err = ofFrames(ctx, source, max(wait, discoverTime)); err != nil {
		return nil, nil, err
	}
	var s Splitter
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

// ofFrames is Discover by the frames that there are.
func ofFrames(ctx context.Context, source *live.Stream, wait time.Duration) (video, audio *Config, err error) {
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
	wantVideo, wantAudio, said := expected(source)
	shorter := false
	var s Splitter
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
		all := (video != nil || !wantVideo) && (audio != nil || !wantAudio)
		if video != nil && audio != nil || said && all {
			return video, audio, nil
		}
		if !said && !shorter && all && (video != nil || audio != nil) {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, discoverMore)
			defer stop()
			shorter = true
		}
	}
	return video, audio, nil // what is known by now counts
}

// expected are the tracks that the stream's metadata or a sequence header says. said: the metadata says which there
// are; else there may be others.
func expected(source *live.Stream) (video, audio, said bool) {
	source.Headers(func(typ flv.TagType, body []byte) {
		if typ != flv.TagScript {
			video, audio = video || typ == flv.TagVideo, audio || typ == flv.TagAudio
			return
		}
		_, values, err := flv.ParseScript(body)
		if err != nil || len(values) == 0 {
			return
		}
		properties := amf0.Properties(values[0])
		has := func(name string) bool {
			return slices.ContainsFunc(properties, func(p amf0.Property) bool { return p.Name == name })
		}
		pictures, sound := has("videocodecid"), has("audiocodecid")
		video, audio, said = video || pictures, audio || sound, said || pictures || sound
	})
	return video, audio, said
}
