package rtpfeed

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// Tracks are those of a stream.
type Tracks struct {
	Formats []rtpmedia.Format // pictures first
	Missing []flv.FourCC      // codecs that are not carried
	Absent  Absent
}

// Absent says what kinds of tracks a stream has not, or not yet.
type Absent struct{ Video, Audio bool }

// Probe finds out the tracks of a stream, in the formats that carries returns: Missing are the codecs for
// which it returned an error. It waits for the first frame as au.Discover does. An error matches ErrNoTracks.
func Probe(ctx context.Context, source *live.Stream, wait time.Duration, assume au.Assume, carries func(*au.Config) (rtpmedia.Format, error)) (t Tracks, err error) {
	video, audio, err := au.Discover(ctx, source, wait, assume)
	if err != nil {
		return t, err
	}
	t.Absent = Absent{video == nil, audio == nil}
	for _, c := range []*au.Config{video, audio} {
		if c == nil {
			continue
		}
		f, err := carries(c)
		if err != nil {
			t.Missing = append(t.Missing, c.Codec)
			continue
		}
		t.Formats = append(t.Formats, f)
	}
	if len(t.Formats) == 0 {
		err = ErrNoTracks
	}
	return t, err
}
