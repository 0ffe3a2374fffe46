package rtmp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// chunkMessage is a message in plain memory.
type chunkMessage struct {
	typ         MessageType
	chunkStream uint32
	streamID    uint32
	time        uint32
	body        []byte
}

func (m chunkMessage) String() string {
	return fmt.Sprintf("%v on %d/%d at %d, %d bytes", m.typ, m.chunkStream, m.streamID, m.time, len(m.body))
}

func chunkPlain(m *Message) chunkMessage {
	p := chunkMessage{m.Type, m.ChunkStream, m.StreamID, m.Time, bytes.Clone(m.bytes())}
	m.Release()
	return p
}

func (m chunkMessage) message(a *mem.Allocator) Message {
	b := a.Get(len(m.body))
	copy(b.Bytes(), m.body)
	return Message{Type: m.typ, ChunkStream: m.chunkStream, StreamID: m.streamID, Time: m.time, Payload: b}
}

func chunkSame(a, b chunkMessage) bool {
	return a.typ == b.typ && a.chunkStream == b.chunkStream && a.streamID == b.streamID && a.time == b.time && bytes.Equal(a.body, b.body)
}

// chunkPeer writes chunks as peers do: every format where it may stand, other
// chunk streams between the chunks of a message, the extended timestamp of
// format 3 repeated or left out.
type chunkPeer struct {
	rand      *rand.Rand
	out       []byte
	chunkSize int
	omits     bool // leaves the extended timestamp of format 3 out
	absolute  bool // repeats the message's time in place of the header's
	last      map[uint32]*chunkPeerStream
	open      []*chunkPeerStream
	done      []chunkMessage // in the order in which they became complete
}

type chunkPeerStream struct {
	chunkMessage
	field uint32 // of the latest header
	at    int
	used  bool
}

// begin writes the first chunk of m in one of the formats that can say it.
func (p *chunkPeer) begin(m chunkMessage) {
	s := p.last[m.chunkStream]
	if s == nil {
		s = &chunkPeerStream{}
		p.last[m.chunkStream] = s
	}
	formats := []byte{0}
	delta := m.time - s.time
	if s.used && s.streamID == m.streamID {
		formats = append(formats, 1)
		if s.typ == m.typ && len(s.body) == len(m.body) {
			formats = append(formats, 2)
			if s.field == delta && !(p.omits && delta >= extended) {
				formats = append(formats, 3, 3)
			}
		}
	}
	format := formats[p.rand.IntN(len(formats))]
	field := delta
	if format == 0 {
		field = m.time
	}
	s.chunkMessage, s.field, s.used, s.at = m, field, true, 0
	for i, c := range m.body {
		// Where the timestamp is left out the payload must not look like it, nor like the
		// zeros of some peers.
		for p.omits && (c == byte(field>>24) || c == byte(m.time>>24) || c == 0) {
			c++
		}
		m.body[i] = c
	}
	p.out = appendBasicHeader(p.out, format, m.chunkStream)
	short := min(field, extended)
	if format < 3 {
		p.out = append(p.out, byte(short>>16), byte(short>>8), byte(short))
	}
	if n := len(m.body); format < 2 {
		p.out = append(p.out, byte(n>>16), byte(n>>8), byte(n), byte(m.typ))
	}
	if format == 0 {
		p.out = binary.LittleEndian.AppendUint32(p.out, m.streamID)
	}
	if short == extended && (format < 3 || !p.omits) {
		p.out = binary.BigEndian.AppendUint32(p.out, field)
	}
	p.piece(s)
	if s.at < len(s.body) {
		p.open = append(p.open, s)
	}
}

// piece writes the payload of one chunk.
func (p *chunkPeer) piece(s *chunkPeerStream) {
	n := min(p.chunkSize, len(s.body)-s.at)
	p.out = append(p.out, s.body[s.at:s.at+n]...)
	if s.at += n; s.at == len(s.body) {
		p.done = append(p.done, s.chunkMessage)
	}
}

// proceed writes a further chunk of one of the open messages.
func (p *chunkPeer) proceed() {
	i := p.rand.IntN(len(p.open))
	s := p.open[i]
	p.out = appendBasicHeader(p.out, 3, s.chunkStream)
	if s.field >= extended && !p.omits {
		v := s.field
		if p.absolute {
			v = s.time
		}
		p.out = binary.BigEndian.AppendUint32(p.out, v)
	}
	p.piece(s)
	if s.at == len(s.body) {
		p.open = append(p.open[:i], p.open[i+1:]...)
	}
}

func (p *chunkPeer) setChunkSize(n int) {
	p.out = AppendChunkHeader(p.out, ControlChunkStream, TypeSetChunkSize, 0, 0, 4)
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(n))
	for i, c := range size {
		if i > 0 && i%p.chunkSize == 0 {
			p.out = AppendContinuation(p.out, ControlChunkStream, 0)
		}
		p.out = append(p.out, c)
	}
	p.chunkSize = n
}

// chunkHistory returns a stream of chunks and the messages that it carries.
func chunkHistory(r *rand.Rand, steps int) *chunkPeer {
	p := &chunkPeer{rand: r, chunkSize: InitialChunkSize, last: map[uint32]*chunkPeerStream{}, omits: r.IntN(3) == 0}
	p.absolute = !p.omits && r.IntN(3) == 0
	times := []uint32{0, 1, 20, 40, 0xFFFFFE, 0xFFFFFF, 0x1000000, 1 << 31, 1<<32 - 1}
	types := []MessageType{TypeAudio, TypeVideo, TypeDataAMF0, TypeCommandAMF0}
	ids := []uint32{3, 4, 6, 63, 64, 319, 320, MaxChunkStream}
	busy := func(id uint32) bool {
		for _, s := range p.open {
			if s.chunkStream == id {
				return true
			}
		}
		return false
	}
	for range steps {
		id := ids[r.IntN(len(ids))]
		switch k := r.IntN(10); {
		case k == 0 && len(p.out) > 0:
			p.setChunkSize([]int{1, 2, 7, 128, 129, 4096, 65536, MaxChunkSize}[r.IntN(8)])
		case k < 5 && len(p.open) > 0 || busy(id):
			p.proceed()
		default:
			m := chunkMessage{types[r.IntN(len(types))], id, uint32(r.IntN(2)), times[r.IntN(len(times))], nil}
			if s := p.last[id]; s != nil && r.IntN(2) == 0 {
				// As the last one, so that the short formats come up.
				m = s.chunkMessage
				m.time += s.field
			}
			n := []int{0, 1, 127, 128, 129, 300, 5000}[r.IntN(7)]
			if s := p.last[id]; s != nil && r.IntN(2) == 0 {
				n = len(s.body)
			}
			m.body = make([]byte, n)
			for i := range m.body {
				m.body[i] = byte(r.Uint32())
			}
			p.begin(m)
		}
	}
	for len(p.open) > 0 {
		p.proceed()
	}
	return p
}

// chunkReadAll reads messages until an error, which is returned too.
func chunkReadAll(c *ChunkReader) ([]chunkMessage, error) {
	var all []chunkMessage
	for {
		m, err := c.ReadMessage()
		if err != nil {
			return all, err
		}
		all = append(all, chunkPlain(&m))
	}
}

// chunkCheck compares what was read with what was sent.
func chunkCheck(t testing.TB, got, want []chunkMessage, err error) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if !chunkSame(got[i], want[i]) {
			t.Fatalf("message %d is %v, want %v", i, got[i], want[i])
		}
	}
	if len(got) != len(want) || err != io.EOF {
		t.Fatalf("%d messages and %v, want %d and EOF", len(got), err, len(want))
	}
}

// chunkSource returns a reader with an allocator of its own, and it.
func chunkSource(r io.Reader, o mem.Options) (*sluice.BufReader, *mem.Allocator) {
	a := mem.New(o)
	b := &sluice.BufReader{Allocator: a}
	b.Reset(r)
	return b, a
}
