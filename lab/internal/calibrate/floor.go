package calibrate

import (
	"encoding/binary"
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// answers returns what makes the answer to what one connection sent, by the rules of a
// protocol: a function that consumes p and returns the bytes to send back, borrowed
// until the next call; they may be p itself.
func answers(protocol load.Protocol) func(p []byte) []byte {
	if protocol == load.Ack {
		return new(acknowledger).answer
	}
	// What echo and frame answer are the bytes that came: no need to know where a
	// frame ends.
	return func(p []byte) []byte { return p }
}

func checkProtocol(protocol load.Protocol) error {
	switch protocol {
	case load.Echo, load.Frame, load.Ack:
		return nil
	}
	return fmt.Errorf("calibrate: there is no protocol %q", protocol)
}

// acknowledger is the protocol ack: 8 bytes for each record, with its number on
// this connection.
type acknowledger struct {
	head  uint32 // the bytes of the length so far
	got   int    // how many those are
	rest  int64  // bytes of the record that are still to come; 0 within a head
	count uint64
	out   []byte
}

func (a *acknowledger) answer(p []byte) []byte {
	a.out = a.out[:0]
	for len(p) > 0 {
		if a.rest == 0 {
			a.head = a.head<<8 | uint32(p[0])
			p = p[1:]
			if a.got++; a.got < 4 {
				continue
			}
			a.rest, a.got = int64(a.head), 0
			if a.rest > 0 {
				continue
			}
		} else {
			n := min(a.rest, int64(len(p)))
			p = p[n:]
			if a.rest -= n; a.rest > 0 {
				continue
			}
		}
		a.count++
		a.out = binary.BigEndian.AppendUint64(a.out, a.count)
	}
	return a.out
}
