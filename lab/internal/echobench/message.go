package echobench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Messages begin and end with a number, so that a message that is cut, sent twice or
// sent to another connection is detected. Between them are bytes drawn from a seed.
const (
	mark    = 8                  // bytes of a number
	minSize = 2 * mark           // the least message
	maxSize = 1 << 20            // the longest
	careful = 1 << 10            // messages up to this size are compared whole
	sampled = 16                 // of longer ones, one in so many; of the others both ends
	ends    = 64                 // bytes at an end
	spread  = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio, as in Fibonacci hashing
)

// A message is what the client sends and expects back. There is one for all
// connections: stamp makes it the message of a number, just before it is sent
// or compared.
type message []byte

func checkSize(size int) error {
	if size < minSize || size > maxSize {
		return fmt.Errorf("echo: messages of %d bytes: between %d and %d can be sent", size, minSize, maxSize)
	}
	return nil
}

func newMessage(size int, seed uint64) (message, error) {
	if err := checkSize(size); err != nil {
		return nil, err
	}
	m := make(message, size)
	rng := rand.New(rand.NewPCG(seed, uint64(size)))
	for i := range m {
		m[i] = byte(rng.Uint32())
	}
	return m, nil
}

func (m message) stamp(number int) {
	binary.LittleEndian.PutUint64(m, mixed(number))
	binary.LittleEndian.PutUint64(m[len(m)-mark:], ^mixed(number))
}

// matches reports whether chunk is what stands at off in the message of that
// number. For a long chunk it may compare the ends only: the comparison must not
// cost as much as the transfer.
func (m message) matches(number, off int, chunk []byte) bool {
	m.stamp(number)
	want := m[off : off+len(chunk)]
	if len(chunk) <= careful || number%sampled == 0 {
		return bytes.Equal(chunk, want)
	}
	last := len(chunk) - ends
	return bytes.Equal(chunk[:ends], want[:ends]) && bytes.Equal(chunk[last:], want[last:])
}

// mixed spreads a number over 64 bits, so that neighbours differ in all bytes.
func mixed(number int) uint64 {
	x := (uint64(number) + 1) * spread
	return x ^ x>>29
}

// Sum is the Check of n messages that came back as they were sent, numbered
// from 0, in whatever order.
func Sum(n int) uint64 {
	var sum uint64
	for number := range n {
		sum += mixed(number)
	}
	return sum
}

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
