package planted

import (
	"bufio"
	"encoding/binary"
	"io"
	"math/rand/v2"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/netsim"
)

// slicePerPacket parses packets behind a length. The fault: each is read into
// a slice of its own, which is garbage when it has been handled.
func slicePerPacket() lab.Scenario {
	return plant("slice-per-packet", "packets of 128 to 1,400 bytes behind a length, parsed from a stream in memory", "packet", 50_000,
		way{"each packet is read into a slice of its own", func(env lab.Env) (lab.Runner, error) {
			src := newPackets(env.Seed)
			r := &slicedPackets{packets: src, r: bufio.NewReaderSize(src.loop, 64<<10)}
			return r, nil
		}},
		way{"our BufReader lends each packet with Next", func(env lab.Env) (lab.Runner, error) {
			src := newPackets(env.Seed)
			return &lentPackets{packets: src, r: sluice.NewBufReader(src.loop)}, nil
		}},
	)
}

// packets are a stream of packets in memory that repeats, and what has been
// seen of it.
type packets struct {
	loop *netsim.Loop
	seen struct{ count, bytes, sum uint64 }
}

// The packets of a stream.
const (
	packetHead  = 4 // the length, big-endian
	packetCount = 1000
	packetLeast = 128
	packetMost  = 1400
)

func newPackets(seed uint64) *packets {
	rnd := rand.New(rand.NewPCG(seed, packetCount))
	var ring []byte
	for range packetCount {
		n := packetLeast + rnd.IntN(packetMost-packetLeast+1)
		ring = binary.BigEndian.AppendUint32(ring, uint32(n))
		for i := range n {
			ring = append(ring, byte(rnd.Uint32()>>(i%8)))
		}
	}
	return &packets{loop: netsim.NewLoop(ring, -1)}
}

// A packet is a payload that has arrived.
type packet struct{ payload []byte }

// handle looks at a packet: what kind it is, how long, and its last bytes. The
// packet is borrowed.
func (s *packets) handle(p packet) {
	s.seen.count++
	s.seen.bytes += uint64(len(p.payload))
	s.seen.sum += uint64(binary.BigEndian.Uint32(p.payload)) + uint64(p.payload[len(p.payload)-1])<<32
}

// begin starts a round at the beginning of the stream.
func (s *packets) begin() {
	s.loop.Reset()
	s.seen.count, s.seen.bytes, s.seen.sum = 0, 0, 0
}

func (s *packets) sample() lab.Sample {
	return lab.Sample{Bytes: int64(s.seen.bytes), Check: s.seen.sum ^ s.seen.count<<48}
}

type slicedPackets struct {
	*packets
	r *bufio.Reader
}

// readPacket reads the next packet, which is the caller's.
func readPacket(r io.Reader) (*packet, error) {
	var head [packetHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	p := &packet{payload: make([]byte, binary.BigEndian.Uint32(head[:]))}
	_, err := io.ReadFull(r, p.payload)
	return p, err
}

func (s *slicedPackets) Run(ops int) (lab.Sample, error) {
	s.begin()
	s.r.Reset(s.loop)
	for range ops {
		p, err := readPacket(s.r)
		if err != nil {
			return lab.Sample{}, err
		}
		s.handle(*p)
	}
	return s.sample(), nil
}

func (*slicedPackets) Close() error { return nil }

type lentPackets struct {
	*packets
	r *sluice.BufReader
}

func (s *lentPackets) Run(ops int) (lab.Sample, error) {
	s.begin()
	s.r.Reset(s.loop)
	for range ops {
		n, err := s.r.ReadBE32(packetHead)
		if err != nil {
			return lab.Sample{}, err
		}
		payload, err := s.r.Next(int(n))
		if err != nil {
			return lab.Sample{}, err
		}
		s.handle(packet{payload})
	}
	return s.sample(), nil
}

func (s *lentPackets) Close() error {
	s.r.Recycle()
	return nil
}
