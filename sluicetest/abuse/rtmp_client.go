package abuse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/rtmp"
)

// handshakePart is the length of C1, C2, S1 and S2 (specification, section 5.2).
const handshakePart = 1536

// longChunk is the chunk size that a client sets once it is connected.
const longChunk = 65536

// probe is the transaction of the request by which a client finds out whether it is
// still served.
const probe = 4242

// A peer is a client that speaks RTMP as the case wants it.
type peer struct {
	*try
	in    *sluice.BufReader
	chunk *rtmp.ChunkReader
	size  int // of the chunks that are sent
	id    uint32
}

// phase is how far a client goes properly.
type phase uint8

const (
	atOnce     phase = iota // nothing is sent
	shaken                  // after the handshake
	connected               // after connect, and a long chunk size
	publishing              // after publish was granted
	playing                 // after play of the healthy stream was granted
)

// rtmpCase is a case that goes as far as from, and sends then.
func rtmpCase(title, clause string, from phase, want Expectation, send func(*peer)) Case {
	return Case{Title: title, Clause: clause, Expect: want, run: func(t *try) result {
		p, ok := newPeer(t, from)
		if !ok {
			return silent
		}
		defer p.in.Recycle()
		send(p)
		if from == atOnce {
			return t.untilClosed()
		}
		return p.outcome(want)
	}}
}

// late marks c as one that a time limit of the server has to end.
func late(c Case) Case {
	c.late = true
	return c
}

func newPeer(t *try, to phase) (*peer, bool) {
	if !t.open() {
		return nil, false
	}
	p := &peer{try: t, in: sluice.NewBufReader(t.conn), size: rtmp.InitialChunkSize}
	p.chunk = rtmp.NewChunkReader(p.in, rtmp.Limits{})
	if err := p.advance(to); err != nil {
		t.note = "could not begin: " + err.Error()
		p.in.Recycle()
		return nil, false
	}
	return p, true
}

func (p *peer) advance(to phase) error {
	if to >= shaken {
		p.send(hello())
		if err := p.shake(); err != nil {
			return err
		}
	}
	if to >= connected {
		p.send(p.connect(p.target.app))
		if err := p.result(1); err != nil {
			return err
		}
		p.setChunkSize(longChunk)
	}
	if to < publishing {
		return nil
	}
	p.send(p.command(0, "createStream", 2, nil))
	if err := p.result(2); err != nil {
		return err
	}
	if to == playing {
		p.send(p.command(p.id, "play", 3, nil, p.guard))
		return p.status("NetStream.Play.Start")
	}
	p.send(p.command(p.id, "publish", 3, nil, p.stream, "live"))
	return p.status("NetStream.Publish.Start")
}

// hello is C0, C1 and a C2 that is no echo, as common clients send it.
func hello() []byte {
	b := make([]byte, 1+2*handshakePart)
	b[0] = 3
	return b
}

// shake reads S0, S1 and S2.
func (p *peer) shake() error {
	s, err := p.in.Next(1 + 2*handshakePart)
	if err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	if s[0] != 3 {
		return fmt.Errorf("handshake: version %d", s[0])
	}
	return nil
}

// connect is a proper connect command.
func (p *peer) connect(app any) []byte {
	return p.command(0, "connect", 1, amf0.Object{
		{Name: "app", Value: app},
		{Name: "flashVer", Value: "FMLE/3.0 (compatible; abuse)"},
		{Name: "tcUrl", Value: p.target.scheme + "://" + p.target.host + "/" + p.target.app},
	})
}

// setChunkSize sends Set Chunk Size, and follows it.
func (p *peer) setChunkSize(n uint32) {
	p.send(p.message(rtmp.ControlChunkStream, rtmp.TypeSetChunkSize, 0, 0, be32(n)))
	p.size = int(n)
}

// command is a whole command message.
func (p *peer) command(streamID uint32, name string, transaction float64, args ...amf0.Value) []byte {
	payload, err := rtmp.AppendCommand(nil, name, transaction, args...)
	if err != nil {
		panic(err) // the cases' own values
	}
	return p.message(rtmp.CommandChunkStream, rtmp.TypeCommandAMF0, streamID, 0, payload)
}

// message is a whole message in chunks of the size that was set.
func (p *peer) message(chunkStream uint32, typ rtmp.MessageType, streamID, ms uint32, payload []byte) []byte {
	b := rtmp.AppendChunkHeader(nil, chunkStream, typ, streamID, ms, len(payload))
	for {
		n := min(len(payload), p.size)
		b = append(b, payload[:n]...)
		if payload = payload[n:]; len(payload) == 0 {
			return b
		}
		b = rtmp.AppendContinuation(b, chunkStream, ms)
	}
}

// control is a protocol control message of any payload.
func (p *peer) control(typ rtmp.MessageType, payload []byte) []byte {
	return p.message(rtmp.ControlChunkStream, typ, 0, 0, payload)
}

// media is a message on the stream that is published.
func (p *peer) media(typ rtmp.MessageType, ms uint32, payload ...byte) []byte {
	return p.message(rtmp.VideoChunkStream, typ, p.id, ms, payload)
}

// errRefused is an error that the server has answered.
var errRefused = errors.New("refused")

// next returns the next command, and of the others what event says. It reports an
// answer with an error as errRefused.
func (p *peer) next(event func(rtmp.Message)) (rtmp.Command, error) {
	for {
		m, err := p.chunk.ReadMessage()
		if err != nil {
			return rtmp.Command{}, err
		}
		if m.Type != rtmp.TypeCommandAMF0 {
			if event != nil {
				event(m)
			}
			m.Release()
			continue
		}
		c, err := rtmp.ParseCommand(m)
		m.Release()
		if err != nil {
			return c, err
		}
		if level, code, description, ok := c.Status(); c.Name == "_error" || ok && level == "error" {
			return c, fmt.Errorf("%w: %s %s", errRefused, code, description)
		}
		return c, nil
	}
}

// result waits for the answer to a transaction.
func (p *peer) result(transaction float64) error {
	for {
		c, err := p.next(nil)
		if err != nil {
			return err
		}
		if c.Name == "_result" && c.Transaction == transaction {
			if n := c.Number(1); transaction == 2 && n >= 1 && n < math.MaxUint32 {
				p.id = uint32(n)
			}
			return nil
		}
	}
}

// status waits for a status with this code.
func (p *peer) status(want string) error {
	for {
		c, err := p.next(nil)
		if err != nil {
			return err
		}
		if _, code, _, ok := c.Status(); ok && code == want {
			return nil
		}
	}
}

// outcome sees what the server makes of what was sent: it asks for another stream, and
// reads.
func (p *peer) outcome(want Expectation) result {
	if want != Closed {
		p.send(p.command(0, "createStream", probe, nil))
	}
	was := silent
	for {
		pong := false
		c, err := p.next(func(m rtmp.Message) { pong = pong || isPong(m) })
		if pong && want == Answered {
			return answered
		}
		switch {
		case errors.Is(err, errRefused):
			p.note = err.Error()
			if want == Refused || c.Transaction == probe {
				return refused
			}
			was = refused
		case err != nil && !errors.Is(err, rtmp.ErrProtocol):
			if r := closedBy(err); r == closed {
				return closed
			}
			return was
		case err != nil:
			p.note = err.Error()
			return silent
		case c.Name == "_result" && c.Transaction == probe:
			return served
		}
	}
}

// pong is what isPong looks for: the time of a ping request.
var pong = []byte{0, 7, 0xAB, 0xCD, 0x12, 0x34}

func isPong(m rtmp.Message) bool {
	return m.Type == rtmp.TypeUserControl && bytes.Equal(m.Payload.Bytes(), pong)
}

// reads reads whatever comes for as long as d, as a client that only listens.
func (p *peer) reads(d time.Duration) {
	_ = p.conn.SetReadDeadline(time.Now().Add(d))
	_, _ = io.Copy(io.Discard, p.conn)
	_ = p.conn.SetReadDeadline(time.Now().Add(p.within))
}

func be16(n uint16) []byte { return binary.BigEndian.AppendUint16(nil, n) }
func be32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// zeros returns n bytes.
func zeros(n int) []byte { return make([]byte, n) }

// join puts pieces together.
func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// rtmp adds a case that goes as far as from, and sends then.
func (s *section) rtmp(title string, from phase, want Expectation, send func(*peer)) {
	s.cases = append(s.cases, rtmpCase(title, s.clause, from, want, send))
}

// rtmpLate adds one that a time limit of the server has to end.
func (s *section) rtmpLate(title string, from phase, want Expectation, send func(*peer)) {
	s.cases = append(s.cases, late(rtmpCase(title, s.clause, from, want, send)))
}
