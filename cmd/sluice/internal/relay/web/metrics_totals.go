package web

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// totalDescs describe the metrics of the whole server, which do not decrease when
// a stream ends.
type totalDescs struct {
	publishers, viewers, sessions               *prometheus.Desc
	receivedBytes, receivedFrames               *prometheus.Desc
	sentBytes, sentFrames, droppedFrames, jumps *prometheus.Desc
	refusals, endings, bans                     *prometheus.Desc
}

func newTotalDescs(desc func(name, help string, labels ...string) *prometheus.Desc) *totalDescs {
	return &totalDescs{
		publishers:     desc("publishers", "Publishers that are connected, by protocol.", "protocol"),
		viewers:        desc("viewers", "Viewers that are connected, by protocol.", "protocol"),
		sessions:       desc("sessions_total", "Sessions that have begun.", "role", "protocol"),
		receivedBytes:  desc("received_bytes_total", "Bytes that publishers have sent, FLV headers included.", "protocol"),
		receivedFrames: desc("received_frames_total", "Tags that publishers have sent.", "protocol"),
		sentBytes:      desc("sent_bytes_total", "Bytes that viewers were sent.", "protocol"),
		sentFrames:     desc("sent_frames_total", "Tags that viewers were sent.", "protocol"),
		droppedFrames:  desc("dropped_frames_total", "Tags that slow viewers were not sent.", "protocol"),
		jumps:          desc("jumps_total", "Times that a slow viewer was moved on to a key frame.", "protocol"),
		refusals:       desc("refusals_total", "Sessions that were not admitted, by the reason's code.", "role", "reason"),
		endings:        desc("session_ends_total", "Sessions that have ended, by the reason's code.", "role", "reason"),
		bans:           desc("bans", "Bans that hold."),
	}
}

// kindsOf returns the kinds of sessions that have series: those that there were, and the
// usual ones from the start, so that their first session is an increase.
func kindsOf(t *session.Totals) map[session.Kind]bool {
	kinds := map[session.Kind]bool{}
	for role, protocols := range map[session.Role][]string{
		session.RolePublisher: {session.RTMP, session.RTMPS, session.FLV, session.FLVS, session.RTSP, session.RTSPS, session.SRT, session.WHIP},
		session.RoleViewer:    {session.RTMP, session.RTMPS, session.FLV, session.FLVS, session.WS, session.WSS, session.HLS, session.HLSS, session.RTSP, session.RTSPS, session.SRT, session.WHEP},
	} {
		for _, protocol := range protocols {
			kinds[session.Kind{Role: role, Protocol: protocol}] = true
		}
	}
	for kind := range t.Began {
		kinds[kind] = true
	}
	return kinds
}
