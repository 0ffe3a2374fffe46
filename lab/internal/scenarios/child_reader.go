package scenarios

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

var _ = registerChild("tcp-reader", tcpReader)

// tcpReader is the child that reads a stream from an address. Before each part
// of it comes a frame count, eight bytes big-endian; behind it, the child answers
// with the sum of the marks of what it got, in eight bytes too.
func tcpReader(args []string) error {
	if err := childArgs("tcp-reader", args, "ADDRESS", "KIND"); err != nil {
		return err
	}
	s, err := beginChild(args[1])
	if err != nil {
		return err
	}
	conn, err := dialParent(args[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetReadBuffer(receiveBuffer); err != nil {
		return err
	}
	var word [8]byte
	buf := make([]byte, 256<<10)
	for at := 0; ; {
		if _, err := io.ReadFull(conn, word[:]); err != nil {
			return unlessHungUp(err)
		}
		n := int(binary.BigEndian.Uint64(word[:]))
		if err := expect(conn, s, at, n, buf); err != nil {
			return err
		}
		binary.BigEndian.PutUint64(word[:], over(s.marks, at, n))
		if _, err := conn.Write(word[:]); err != nil {
			return unlessHungUp(err)
		}
		at = (at + n) % s.units()
	}
}

// expect reads n units from that one on, and compares every byte.
func expect(src io.Reader, s *stream, unit, n int, buf []byte) error {
	at := s.ends[unit]
	for left := s.size(unit, n); left > 0; {
		rest := s.ring[at:]
		k, err := src.Read(buf[:min(int64(len(buf)), int64(len(rest)), left)])
		if err != nil {
			return err
		}
		if !bytes.Equal(buf[:k], rest[:k]) {
			return fmt.Errorf("%w: in the %d bytes from %d", errDiffers, k, at)
		}
		left -= int64(k)
		at = (at + int64(k)) % int64(len(s.ring))
	}
	return nil
}
