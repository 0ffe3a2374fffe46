package config

import "time"

// leastMemory is below what a server with one stream needs: it would refuse all publishers.
const leastMemory = 16 << 20

// Limits bounds what peers may take. 0 is no limit.
type Limits struct {
	MaxMemory               int64 // bytes; 0: half of what there is
	MaxStreams              int
	MaxStreamsPerAddress    int
	PublishTimeout          time.Duration
	MinPublishRate          int // bytes a second
	MaxHandshakes           int
	MaxHandshakesPerAddress int
	MaxViewers              int
	MaxViewersPerAddress    int
	MaxViewersPerStream     int
}

// Connections is how many of viewers, publishers and clients without a request there may be.
func (g *Limits) Connections() int64 {
	return int64(g.MaxViewers) + int64(g.MaxStreams) + int64(g.MaxHandshakes)
}

func (g *Limits) settings() []Setting {
	return []Setting{
		{Name: "max-memory", Default: "0", Usage: "at most this `size` for streams, queues and what the kernel holds for connections; 0 for half of what the machine, its control group or GOMEMLIMIT has; never more than three quarters of that",
			value: size(&g.MaxMemory), fits: zeroOrSize(&g.MaxMemory, leastMemory)},
		{Name: "max-streams", Default: "1000", Live: true, Usage: "at most `N` streams; 0 for no limit",
			value: number(&g.MaxStreams), fits: between(&g.MaxStreams, 0, 1<<30)},
		{Name: "max-streams-per-address", Default: "100", Live: true, Usage: "at most `N` streams published from one address; 0 for no limit",
			value: number(&g.MaxStreamsPerAddress), fits: between(&g.MaxStreamsPerAddress, 0, 1<<30)},
		{Name: "publish-timeout", Default: "10s", Live: true, Scoped: true, Usage: "end publishers that send nothing for this `time`; over RTMP and RTSP it may take twice as long",
			value: duration(&g.PublishTimeout), fits: between(&g.PublishTimeout, 2*time.Second, time.Hour)},
		{Name: "min-publish-rate", Default: "512", Live: true, Scoped: true, Usage: "end publishers that send less than this `size` a second, over 10 s, or publish-timeout if that is longer; 0 for no limit",
			value: size(&g.MinPublishRate), fits: sizeBetween(&g.MinPublishRate, 0, 1<<20)},
		{Name: "max-handshakes", Default: "1024", Live: true, Usage: "at most `N` connections of RTMP, and as many each of HTTP, RTSP and SRT, at a time on their way to a request; more wait",
			value: number(&g.MaxHandshakes), fits: between(&g.MaxHandshakes, 1, 1<<20)},
		{Name: "max-handshakes-per-address", Default: "256", Live: true, Usage: "at most `N` of those from one address",
			value: number(&g.MaxHandshakesPerAddress), fits: between(&g.MaxHandshakesPerAddress, 1, 1<<20)},
		{Name: "max-viewers", Default: "20000", Live: true, Usage: "at most `N` viewers; 0 for no limit",
			value: number(&g.MaxViewers), fits: between(&g.MaxViewers, 0, 1<<30)},
		{Name: "max-viewers-per-address", Default: "5000", Live: true, Usage: "at most `N` viewers from one address; 0 for no limit",
			value: number(&g.MaxViewersPerAddress), fits: between(&g.MaxViewersPerAddress, 0, 1<<30)},
		{Name: "max-viewers-per-stream", Default: "0", Live: true, Scoped: true, Usage: "at most `N` viewers of one stream; 0 for no limit",
			value: number(&g.MaxViewersPerStream), fits: between(&g.MaxViewersPerStream, 0, 1<<30)},
	}
}
