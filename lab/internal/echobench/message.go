package echobench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
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
