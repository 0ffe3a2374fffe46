package session

import "time"

// Times are the time limits of a server. Tests make them longer, and shorter where they are
// about one. Zero is the usual time of this package or of the one that has the limit.
type Times struct {
	Header  time.Duration // from a connection's beginning to the end of its first request header
	Request time.Duration // for a request whose body is not media
	Idle    time.Duration // between requests
	Answer  time.Duration // to send an answer that is not media
	Silence time.Duration // without a byte from a publisher; 0: the setting publish-timeout
	Step    time.Duration // between checks of what a publisher has sent
	Rate    time.Duration // over which a publisher's rate is measured
	pull    time.Duration // for the edge to find out whether a stream exists
	Lost    time.Duration // without a frame from an origin, until a publisher here takes its place
	Sample  time.Duration // between samples of the history
	Ask     time.Duration // for a node to answer another, with what it asks others for
	Join    time.Duration // for a node that begins to know what others have
	Lag     time.Duration // that a viewer may be late before frames are left out
	Stall   time.Duration // without a byte that a viewer takes
	Hook    time.Duration // for a call of the admission hook
	Events  time.Duration // to deliver the last events, when sessions have used up the time for the shutdown
	End     time.Duration // of the server, whatever does not end with it
	Quiet   time.Duration // without progress in a handshake, while others wait for the place
}

// PublisherTimes returns the limits of publishers of a stream, by its settings.
func (h *Host) PublisherTimes(stream string) Times {
	t := h.Times
	if t.Silence == 0 {
		t.Silence = h.For(stream).PublishTimeout
		t.Rate = max(t.Rate, t.Silence) // who may be silent for so long sends nothing in a shorter window
	}
	return t
}

// WithDefaults fills in what is zero.
func (t Times) WithDefaults() Times {
	for _, f := range []struct {
		have  *time.Duration
		usual time.Duration
	}{
		{&t.Header, 10 * time.Second},
		{&t.Request, 10 * time.Second},
		{&t.Idle, 10 * time.Second},
		{&t.Answer, 30 * time.Second},
		{&t.Step, 1250 * time.Millisecond},
		{&t.Rate, 10 * time.Second},
		{&t.pull, 5 * time.Second},
		{&t.Lost, 2 * time.Second},
		{&t.Sample, 2 * time.Second},
		{&t.Ask, 3 * time.Second},
		{&t.Join, time.Second},
		{&t.Events, time.Second},
		{&t.End, 12 * time.Second},
	} {
		if *f.have == 0 {
			*f.have = f.usual
		}
	}
	return t
}
