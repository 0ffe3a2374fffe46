package planted

import (
	"errors"
	"hash/crc32"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// smallBuffer sums up what comes over a connection whose other end sends as
// fast as it can, a gigabyte per second and more. The fault: it reads 4 KiB at a
// time.
func smallBuffer() lab.Scenario {
	s := plant("small-buffer", "a stream of over 1 GB/s on loopback TCP, summed up, in blocks of 4 KiB", "block", 20_000,
		way{"it is read into a buffer of 4 KiB", func(env lab.Env) (lab.Runner, error) { return newSumming(env, 4<<10) }},
		way{"it is read into a buffer of 256 KiB", func(env lab.Env) (lab.Runner, error) { return newSumming(env, 256<<10) }},
	)
	// The clock says how fast the sender is.
	s.Metric = lab.CPUPerOp
	return s
}

// blockSize is what an operation consumes.
const blockSize = 4 << 10

// summing is the reader of a stream and, on a goroutine, its sender.
type summing struct {
	near, far *net.TCPConn
	file      *os.File // what is sent, over and over
	buf       []byte
	rounds    chan int64 // bytes to send
	gone      chan struct{}
}

// fileSize is the length of the file.
const fileSize = 1 << 20

func newSumming(env lab.Env, buffer int) (lab.Runner, error) {
	text := make([]byte, fileSize)
	for i := range text {
		text[i] = byte(i*31 + i>>8)
	}
	name := filepath.Join(env.Dir, "stream")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return nil, err
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	near, far, err := loopback()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s := &summing{near: near, far: far, file: file, buf: make([]byte, buffer), rounds: make(chan int64, 1), gone: make(chan struct{})}
	go s.send()
	return s, nil
}

// send sends the file until the round has all its bytes, in a way that costs
// next to nothing: the kernel passes its pages on.
func (s *summing) send() {
	defer close(s.gone)
	for left := range s.rounds {
		for left > 0 {
			if _, err := s.file.Seek(0, io.SeekStart); err != nil {
				return
			}
			n, err := io.CopyN(s.far, s.file, min(left, fileSize))
			if err != nil {
				return
			}
			left -= n
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
	return errors.Join(err, s.file.Close())
}
