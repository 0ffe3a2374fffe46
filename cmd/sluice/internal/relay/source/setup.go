package source

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/rtsp"
)

// oddTimeout is taken to be a session's timeout where the server's is no number of seconds.
const oddTimeout = 20 * time.Second

// setUpAll sets up a track of pictures and one of sound. One that the server refuses is left
// out: another of its kind may be taken. Without any the error is the server's answer.
func (c *client) setUpAll(tracks []rtpmedia.Track, o *Options, publish func(live.Frame) error, leftOut func(what string)) error {
	ready := make([]bool, len(tracks))
	for {
		intake, err := rtpmedia.NewIntake(tracks, o.Alloc, o.MaxFrame, publish)
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		refused := -1
		for i := range tracks {
			if ready[i] || !intake.Takes(i) {
				continue
			}
			if err = c.setUp(i, tracks[i].Control); err != nil {
				refused = i
				break
			}
			ready[i] = true
		}
		if refused < 0 {
			intake.OnLeftOut(leftOut)
			c.intake = intake
			return nil
		}
		intake.Close()
		if !errors.Is(err, ErrRefused) {
			return err
		}
		tracks[refused].Err = err
		leftOut(fmt.Sprintf("%v: %v", tracks[refused].Codec, err))
	}
}

// setUp sets a track up over the connection.
func (c *client) setUp(track int, control string) error {
	number := 2 * c.tracks
	transport := rtsp.Transport{Protocol: "RTP", Profile: "AVP", Lower: "TCP", Unicast: true, Interleaved: &rtsp.Pair{First: number, Last: number + 1}}
	resp, err := c.ask(rtsp.Setup, trackURL(c.base, control), rtsp.Header{{Name: "Transport", Value: transport.String()}})
	if err != nil {
		return err
	}
	defer resp.Release()
	first, last := number, number+1
	if list, err := rtsp.ParseTransport(resp.Header.Get("Transport")); err == nil {
		switch one := list[0]; {
		case one.Interleaved != nil:
			first, last = one.Interleaved.First, one.Interleaved.Last
		case one.Lower != "TCP" && (one.ClientPort != nil || one.ServerPort != nil || one.Port != nil):
			return fmt.Errorf("%w: %s: it sends over UDP only", ErrRefused, rtsp.Setup)
		}
	}
	c.tracks++
	c.channels[uint8(first)] = 2 * track
	if last != first {
		c.channels[uint8(last)] = 2*track + 1
	}
	switch s, err := rtsp.ParseSession(resp.Header.Get("Session")); {
	case err == nil:
		c.id, c.keep = s.ID, s.Timeout
	case s.ID != "":
		c.id, c.keep = s.ID, oddTimeout
	}
	return nil
}

// unasked returns the channel, as channels has it, of a packet that came on one that was
// not agreed on: the track of its payload type.
func (c *client) unasked(p []byte) (int, bool) {
	const header = 12
	if len(p) < header || p[0]>>6 != 2 {
		return 0, false
	}
	track, ok := c.intake.TrackOf(p[1] & 0x7f)
	return 2 * track, ok
}

// trackURL joins a track's control and the base (RFC 2326, appendix C.1.1). Servers mean
// that it is appended, not resolved.
func trackURL(base, control string) string {
	switch {
	case control == "" || control == "*":
		return base
	case strings.HasPrefix(strings.ToLower(control), "rtsp://"), strings.HasPrefix(strings.ToLower(control), "rtsps://"):
		return control
	}
	return strings.TrimSuffix(base, "/") + "/" + strings.TrimPrefix(control, "/")
}
