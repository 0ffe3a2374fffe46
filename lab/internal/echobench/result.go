package echobench

import (
	"math"
	"slices"
	"time"
)

// A Result has the figures of a part of the client's work.
type Result struct {
	Messages int           // sent, and come back whole
	Bytes    int64         // of those messages, one way
	Check    uint64        // Sum(Messages), added up message by message
	Wall     time.Duration // from the first send to the last answer
	Waited   time.Duration // of Wall, for the server: where it is little, the client was the limit

	// From when a message was due (paced) or sent (closed) to when its echo was complete.
	P50, P99 time.Duration
	Late     time.Duration // paced: how much after it was due one in a hundred was sent, or more
}

// And returns the sum of two parts; the latencies are those of the second.
func (r Result) And(next Result) Result {
	next.Messages += r.Messages
	next.Bytes += r.Bytes
	next.Check += r.Check
	next.Wall += r.Wall
	next.Waited += r.Waited
	return next
}

// Quantile sorts values and returns the least that a part q of them do not
// exceed; 0 when there are none. With some thousand values there is no need for
// a histogram.
func Quantile(values []time.Duration, q float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	at := int(math.Ceil(q*float64(len(values)))) - 1
	return values[min(max(at, 0), len(values)-1)]
}
