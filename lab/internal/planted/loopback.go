package planted

import (
	"errors"
	"hash/crc32"
	"io"
	"net"
)

// castagnoli is the checksum for which processors have instructions: it costs
// next to nothing beside moving the bytes.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// loopback returns the two ends of a TCP connection.
func loopback() (near, far *net.TCPConn, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	dialled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	// The dial has succeeded, so that a connection waits to be accepted.
	accepted, err := l.Accept()
	if err != nil {
		return nil, nil, errors.Join(err, dialled.Close())
	}
	return dialled.(*net.TCPConn), accepted.(*net.TCPConn), nil
}

// A collector takes what arrives on a connection and sums it up, in rounds.
type collector struct {
	conn   net.Conn
	rounds chan int64 // how many bytes the next round has
	sums   chan collected
}

type collected struct {
	sum uint32
	err error
}

func newCollector(conn net.Conn) *collector {
	c := &collector{conn: conn, rounds: make(chan int64, 1), sums: make(chan collected, 1)}
	go c.collect()
	return c
}

func (c *collector) collect() {
	defer close(c.sums)
	buf := make([]byte, 256<<10)
	for left := range c.rounds {
		var sum uint32
		var err error
		for left > 0 && err == nil {
			var n int
			n, err = c.conn.Read(buf[:min(left, int64(len(buf)))])
			sum = crc32.Update(sum, castagnoli, buf[:n])
			left -= int64(n)
		}
		if left == 0 {
			err = nil
		} else if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		c.sums <- collected{sum, err}
	}
}

// expect begins a round of so many bytes.
func (c *collector) expect(bytes int64) { c.rounds <- bytes }

// sum waits until all bytes of the round have come, and returns their
// checksum.
func (c *collector) sum() (uint32, error) {
	got := <-c.sums
	return got.sum, got.err
}

// close ends the connection and the goroutine, also in the middle of a round.
func (c *collector) close() error {
	err := c.conn.Close()
	close(c.rounds)
	for range c.sums {
	}
	return err
}
