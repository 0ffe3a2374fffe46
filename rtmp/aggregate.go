package rtmp

import (
	"fmt"

	"github.com/sluice-go/sluice/mem"
)

// Lengths of the header of a part of an aggregate message, which is that of an
// FLV tag, and of the back pointer behind its body (specification, section
// 7.1.6).
const (
	partHeader = 11
	partBack   = 4
)

// aggregate is an aggregate message that is being returned part by part.
type aggregate struct {
	payload     mem.Buf
	at          int
	chunkStream uint32
	streamID    uint32
	time        uint32 // of the message: that of its first part
	first       uint32 // the time that the first part bears
}

func (a *aggregate) left() bool { return a.payload.Valid() }

func (a *aggregate) drop() {
	if a.payload.Valid() {
		a.payload.Release()
	}
}

// start splits m, transferred, into its parts.
func (a *aggregate) start(m *Message) {
	*a = aggregate{chunkStream: m.ChunkStream, streamID: m.StreamID, time: m.Time}
	a.payload = m.Payload //sluice:moved
	m.Payload = mem.Buf{}
}

// next makes m the next audio, video or data message, its payload retained, and
// reports whether there was one. The last part releases the whole message.
func (a *aggregate) next(m *Message) (bool, error) {
	for {
		p := a.payload.Bytes()
		rest := p[a.at:]
		if len(rest) == 0 {
			a.drop()
			return false, nil
		}
		if len(rest) < partHeader {
			err := fmt.Errorf("%w: aggregate message of %d bytes: %d left at %d, less than a header", ErrProtocol, len(p), len(rest), a.at)
			a.drop()
			return false, err
		}
		n := int(be24(rest[1:]))
		if n > len(rest)-partHeader {
			err := fmt.Errorf("%w: aggregate message of %d bytes: part of %d at %d", ErrProtocol, len(p), n, a.at)
			a.drop()
			return false, err
		}
		time := be24(rest[4:]) | uint32(rest[7])<<24
		if a.at == 0 {
			a.first = time
		}
		begin := a.at + partHeader
		// Some senders leave the last back pointer out.
		a.at = min(begin+n+partBack, len(p))
		switch typ := MessageType(rest[0] & 0x1F); typ {
		case TypeAudio, TypeVideo, TypeDataAMF0:
			*m = Message{
				Type: typ, ChunkStream: a.chunkStream, StreamID: a.streamID, Time: a.time + time - a.first,
				Payload: a.payload.RetainedSlice(begin, begin+n),
			}
			return true, nil
		}
	}
}
