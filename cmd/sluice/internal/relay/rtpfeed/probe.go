package rtpfeed

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// Probe finds out the tracks of a stream, pictures first, in the formats that carries
// returns. It waits for the first frame as au.Discover does. missing are the codecs for which
// carries returned an error. An error matches ErrNoTracks.
func Probe(ctx context.Context, source *live.Stream, wait time.Duration, carries func(*au.Config) (rtpmedia.Format, error)) (formats []rtpmedia.Format, missing []flv.FourCC, err error) {
	video, audio, err := au.Discover(ctx, source, wait)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range []*au.Config{video, audio} {
		if c == nil {
			continue
		}
		f, err := carries(c)
		if err != nil {
			missing = append(missing, c.Codec)
			continue
		}
		formats = append(formats, f)
	}
	if len(formats) == 0 {
		err = ErrNoTracks
	}
	return formats, missing, err
}
