package relay

import "time"

// times are what bounds the waits of a server. Tests make them shorter.
type times struct {
	header  time.Duration // from a connection's beginning to the end of its first request header
	request time.Duration // for a request whose body is not media
	idle    time.Duration // between requests
	answer  time.Duration // to send an answer that is not media
	silence time.Duration // without a byte from a publisher
	step    time.Duration // between looks at what a publisher has sent
	rate    time.Duration // over which a publisher's rate is measured
	pull    time.Duration // for the edge to find out whether there is a stream
	sample  time.Duration // between samples of the history
}

// withDefaults fills in what is zero.
func (t times) withDefaults() times {
	for _, f := range []struct {
		have  *time.Duration
		usual time.Duration
	}{
		{&t.header, 10 * time.Second},
		{&t.request, 10 * time.Second},
		{&t.idle, 10 * time.Second},
		{&t.answer, 30 * time.Second},
		{&t.silence, 10 * time.Second},
		{&t.step, 1250 * time.Millisecond},
		{&t.rate, 10 * time.Second},
		{&t.pull, 5 * time.Second},
		{&t.sample, 2 * time.Second},
	} {
		if *f.have == 0 {
			*f.have = f.usual
		}
	}
	return t
}
