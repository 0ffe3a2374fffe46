package planted

import (
	"errors"
	"hash/crc32"
	"io"
	"net"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
)

// smallBuffer sums up what comes over a connection whose other end sends as
// fast as it can, a gigabyte per second and more. The fault: it reads 4 KiB at a
// time.
func smallBuffer() lab.Scenario {
	s := plant("small-buffer", "a stream of over 1 GB/s on loopback TCP, summed up, in blocks of 4 KiB", "block", 20_000,
		way{"it is read into a buffer of 4 KiB", func(lab.Env) (lab.Runner, error) { return newSumming(4 << 10) }},
		way{"it is read into a buffer of 256 KiB", func(lab.Env) (lab.Runner, error) { return newSumming(256 << 10) }},
	)
	// By the clock the sender, who shares the processors, is half of it.
	s.Metric = lab.CPUPerOp
	return s
}

// blockSize is what an operation consumes.
const blockSize = 4 << 10

// summing is the reader of a stream and, on a goroutine, its sender.
type summing struct {
	near, far *net.TCPConn
	buf       []byte
	rounds    chan int64 // bytes to send
	gone      chan struct{}
}

func newSumming(buffer int) (lab.Runner, error) {
	near, far, err := loopback()
	if err != nil {
		return nil, err
	}
	s := &summing{near: near, far: far, buf: make([]byte, buffer), rounds: make(chan int64, 1), gone: make(chan struct{})}
	go s.send()
	return s, nil
}

// send writes large pieces of the same bytes in each round.
func (s *summing) send() {
	defer close(s.gone)
	piece := make([]byte, 512<<10)
	for i := range piece {
		piece[i] = byte(i*31 + i>>8)
	}
	for left := range s.rounds {
		for left > 0 {
			n, err := s.far.Write(piece[:min(left, int64(len(piece)))])
			if err != nil {
				return
			}
			left -= int64(n)
		}
	}
}

// checksum reads n bytes from r and returns their checksum.
func checksum(r io.Reader, buf []byte, n int64) (sum uint32, err error) {
	for n > 0 {
		k, err := r.Read(buf[:min(n, int64(len(buf)))])
		sum = crc32.Update(sum, castagnoli, buf[:k])
		n -= int64(k)
		if err != nil && n > 0 {
			return sum, err
		}
	}
	return sum, nil
}

func (s *summing) Run(ops int) (lab.Sample, error) {
	bytes := int64(ops) * blockSize
	s.rounds <- bytes
	sum, err := checksum(s.near, s.buf, bytes)
	return lab.Sample{Bytes: bytes, Check: uint64(sum) + 1}, err
}

func (s *summing) Close() error {
	err := errors.Join(s.near.Close(), s.far.Close())
	close(s.rounds)
	<-s.gone
	return err
}
