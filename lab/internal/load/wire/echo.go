package wire

import (
	"encoding/binary"
	"fmt"
)

type echo struct {
	framed
	verify bool // compare the bytes
	got    int  // bytes of the reply that have come
}

func (e *echo) Reply(r *Request, p []byte) (int, Outcome, error) {
	length := e.Len(r)
	n := min(len(p), length-e.got)
	if e.got+n > r.Sent {
		return 0, Outcome{}, fmt.Errorf("%w: %d bytes came back of a request of which %d were sent", ErrReply, e.got+n, r.Sent)
	}
	switch {
	case e.verify:
		if !e.matches(r, p[:n], e.got) {
			return 0, Outcome{}, fmt.Errorf("%w: bytes %d to %d of what came back for request %d of connection %d are not what was sent",
				ErrReply, e.got, e.got+n, r.Seq, r.Conn)
		}
	case e.got < e.before:
		// Enough to notice that the two have lost step.
		var h [lengthLen]byte
		binary.BigEndian.PutUint32(h[:], uint32(r.Size))
		for i, b := range p[:min(n, lengthLen-e.got)] {
			if b != h[e.got+i] {
				return 0, Outcome{}, fmt.Errorf("%w: another length than the %d bytes of request %d of connection %d", ErrReply, r.Size, r.Seq, r.Conn)
			}
		}
	}
	if e.got += n; e.got < length {
		return n, Outcome{}, nil
	}
	e.got = 0
	return n, Outcome{Done: true, Payload: r.Size}, nil
}

type acked struct {
	framed
	number [8]byte
	got    int
}

func (a *acked) Reply(r *Request, p []byte) (int, Outcome, error) {
	n := copy(a.number[a.got:], p)
	if a.got += n; a.got < len(a.number) {
		return n, Outcome{}, nil
	}
	a.got = 0
	return n, Outcome{Done: true, Payload: r.Size}, nil
}

// Number is what the target acknowledged with.
func (a *acked) Number() uint64 { return binary.BigEndian.Uint64(a.number[:]) }
