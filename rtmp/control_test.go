package rtmp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// controlRun lets a Conn read in, in reads of at most step bytes, and returns
// the messages that it sent, and in how many writes.
func controlRun(t *testing.T, in []byte, step int, prepare func(*Conn)) (replies []chunkMessage, writes int, err error) {
	t.Helper()
	var out bytes.Buffer
	w := sluice.NewBufWriter(writerFunc(func(p []byte) (int, error) { writes++; return out.Write(p) }))
	c := NewConn(sluice.NewBufReader(&controlSteps{in, step}), w, Options{})
	if prepare != nil {
		prepare(c)
	}
	for err == nil {
		var m Message
		if m, err = c.ReadMessage(); err == nil {
			m.Release()
		}
	}
	if w.Buffered() > 0 {
		t.Errorf("%d bytes of replies were not flushed", w.Buffered())
	}
	replies, readErr := chunkReadAll(NewChunkReader(sluice.NewBufReaderBytes(out.Bytes()), Limits{}))
	if readErr != io.EOF {
		t.Fatal("replies: ", readErr)
	}
	return replies, writes, err
}

type controlSteps struct {
	in   []byte
	step int
}

func (s *controlSteps) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.step)], s.in)
	s.in = s.in[n:]
	return n, nil
}

func controlNumber(typ MessageType, v uint32) []byte {
	return binary.BigEndian.AppendUint32(AppendChunkHeader(nil, 2, typ, 0, 0, 4), v)
}

func controlAudio(n, count int) []byte {
	var out []byte
	for range count {
		out = append(AppendChunkHeader(out, 4, TypeAudio, 1, 0, n), make([]byte, n)...)
	}
	return out
}

func TestAcknowledgementsFollowTheWindow(t *testing.T) {
	const each = 112 // with its header
	in := append(controlNumber(TypeWindowAckSize, 10_000), controlAudio(100, 1000)...)
	replies, _, err := controlRun(t, in, each, nil)
	if err != io.EOF {
		t.Fatal(err)
	}
	if n := len(in) / 10_000; len(replies) < n-1 || len(replies) > n {
		t.Errorf("%d acknowledgements of %d bytes, want about %d", len(replies), len(in), n)
	}
	var last uint32
	for _, m := range replies {
		v := binary.BigEndian.Uint32(m.body)
		if m.typ != TypeAcknowledgement || m.streamID != 0 || v < last+10_000 || v > last+10_000+2*each {
			t.Errorf("%v: %d after %d", m, v, last)
		}
		last = v
	}
}

func TestAcknowledgementsWrap(t *testing.T) {
	in := append(controlNumber(TypeWindowAckSize, 10_000), controlAudio(100, 1000)...)
	replies, _, err := controlRun(t, in, 112, func(c *Conn) {
		c.base = -(1<<32 - 50_000)
		c.acked = -c.base
	})
	if err != io.EOF {
		t.Fatal(err)
	}
	wrapped := false
	last := uint32(1<<32 - 50_000)
	for _, m := range replies {
		v := binary.BigEndian.Uint32(m.body)
		if step := v - last; step < 10_000 || step > 10_224 {
			t.Errorf("%d after %d", v, last)
		}
		wrapped = wrapped || v < last
		last = v
	}
	if !wrapped || len(replies) < 10 {
		t.Errorf("%d acknowledgements, wrapped %v", len(replies), wrapped)
	}
}

// A window of a byte or of none, or one for every message, makes no storm.
func TestTinyWindowsMakeNoStorm(t *testing.T) {
	for _, window := range []uint32{0, 1, 2, 100, leastWindow} {
		var in []byte
		for range 1000 {
			in = append(in, controlNumber(TypeWindowAckSize, window)...)
			in = append(in, controlAudio(100, 1)...)
		}
		for _, step := range []int{1, 100, 1 << 20} {
			replies, writes, err := controlRun(t, in, step, nil)
			if err != io.EOF {
				t.Fatal(err)
			}
			most := len(in)/leastWindow + 1
			if window == 0 {
				most = 0
			}
			if len(replies) > most || writes > most {
				t.Errorf("window %d, reads of %d: %d replies in %d writes to %d bytes", window, step, len(replies), writes, len(in))
			}
		}
	}
}

// A peer may stop inside a message until what it has sent is acknowledged.
func TestAcknowledgementInsideAMessage(t *testing.T) {
	in := controlNumber(TypeWindowAckSize, 5000)
	in = append(in, hostileMessage(TypeVideo, make([]byte, 20_000))[:6000]...)
	replies, _, err := controlRun(t, in, 500, nil)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(replies) != 1 {
		t.Errorf("%d acknowledgements before %v", len(replies), err)
	}
}

func TestPingIsAnswered(t *testing.T) {
	var in []byte
	for i := range uint32(3) {
		in = AppendChunkHeader(in, 2, TypeUserControl, 0, 0, 6)
		in = binary.BigEndian.AppendUint16(in, uint16(EventPingRequest))
		in = binary.BigEndian.AppendUint32(in, 1000+i)
	}
	for _, step := range []int{1, 18, 1000} {
		replies, _, err := controlRun(t, in, step, nil)
		if err != io.EOF || len(replies) != 3 {
			t.Fatalf("%d replies, %v", len(replies), err)
		}
		for i, m := range replies {
			if want := []byte{0, byte(EventPingResponse), 0, 0, 3, 0xE8 + byte(i)}; m.typ != TypeUserControl || !bytes.Equal(m.body, want) {
				t.Errorf("%v: % x, want % x", m, m.body, want)
			}
		}
	}
}

// Pings that come together are answered together, and before the reader waits.
func TestManyPingsAreAnsweredTogether(t *testing.T) {
	var in []byte
	for range 1000 {
		in = AppendChunkHeader(in, 2, TypeUserControl, 0, 0, 6)
		in = append(in, 0, byte(EventPingRequest), 0, 0, 0, 1)
	}
	replies, writes, err := controlRun(t, in, 1<<20, nil)
	if err != io.EOF || len(replies) != 1000 {
		t.Fatalf("%d replies, %v", len(replies), err)
	}
	if most := 2 + 1000*18/mostOwed + len(in)/256; writes > most {
		t.Errorf("%d writes, at most %d", writes, most)
	}
}

func TestPeerBandwidthIsGrantedOnce(t *testing.T) {
	var in []byte
	for _, size := range []uint32{500_000, 500_000, 500_000, 600_000} {
		in = binary.BigEndian.AppendUint32(AppendChunkHeader(in, 2, TypeSetPeerBandwidth, 0, 0, 5), size)
		in = append(in, 2)
	}
	replies, _, err := controlRun(t, in, 17, nil)
	if err != io.EOF || len(replies) != 2 {
		t.Fatalf("%d replies, %v", len(replies), err)
	}
	for i, want := range []uint32{500_000, 600_000} {
		if m := replies[i]; m.typ != TypeWindowAckSize || binary.BigEndian.Uint32(m.body) != want {
			t.Errorf("%v: % x, want %d", m, m.body, want)
		}
	}
}

// A peer that has said all and gone does not take its last words with it.
func TestWhatWasSentIsReadThoughNoReplyCanBe(t *testing.T) {
	in := append(controlNumber(TypeWindowAckSize, 5000), controlAudio(100, 1000)...)
	gone := errors.New("gone")
	w := sluice.NewBufWriter(writerFunc(func([]byte) (int, error) { return 0, gone }))
	c := NewConn(sluice.NewBufReader(&controlSteps{in, 500}), w, Options{})
	n := 0
	for {
		m, err := c.ReadMessage()
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
		m.Release()
		n++
	}
	if n != 1000 {
		t.Errorf("%d of 1000 messages", n)
	}
	if err := c.Flush(); !errors.Is(err, gone) {
		t.Errorf("the next write says %v", err)
	}
}

func TestShortControlMessagesAreRefused(t *testing.T) {
	for _, typ := range []MessageType{TypeSetChunkSize, TypeAbort, TypeAcknowledgement, TypeUserControl, TypeWindowAckSize, TypeSetPeerBandwidth} {
		in := append(AppendChunkHeader(nil, 2, typ, 0, 0, 1), 0)
		if _, _, err := controlRun(t, in, 100, nil); !errors.Is(err, ErrProtocol) {
			t.Errorf("%v of a byte: %v", typ, err)
		}
	}
}

func TestEventsAreReported(t *testing.T) {
	var got []string
	var in []byte
	for e := range Event(40) {
		in = AppendChunkHeader(in, 2, TypeUserControl, 0, 0, 6)
		in = binary.BigEndian.AppendUint16(in, uint16(e))
		in = binary.BigEndian.AppendUint32(in, 7)
	}
	in = append(AppendChunkHeader(in, 2, TypeUserControl, 0, 0, 2), 0, 32)
	c := NewConn(sluice.NewBufReaderBytes(in), sluice.NewBufWriter(io.Discard), Options{
		OnEvent: func(e Event, v uint32) { got = append(got, fmt.Sprint(e, v)) },
	})
	if _, err := c.ReadMessage(); err != io.EOF {
		t.Fatal(err)
	}
	if len(got) != 40 || got[EventStreamEOF] != fmt.Sprint(EventStreamEOF, 7) || got[39] != fmt.Sprint(32, 0) {
		t.Errorf("reported %v", got)
	}
}

func TestUnknownMessagesAreDropped(t *testing.T) {
	var in []byte
	for typ := range 256 {
		switch MessageType(typ) {
		case TypeSetChunkSize, TypeAbort, TypeUserControl, TypeWindowAckSize, TypeSetPeerBandwidth, TypeAggregate:
			continue
		}
		in = append(AppendChunkHeader(in, 3, MessageType(typ), 0, 0, 4), 1, 2, 3, 4)
	}
	a := mem.New(mem.Options{})
	r := &sluice.BufReader{Allocator: a}
	r.Reset(bytes.NewReader(in))
	c := NewConn(r, sluice.NewBufWriter(io.Discard), Options{})
	var got []MessageType
	for {
		m, err := c.ReadMessage()
		if err != nil {
			break
		}
		got = append(got, m.Type)
		m.Release()
	}
	want := fmt.Sprint([]MessageType{TypeAudio, TypeVideo, TypeDataAMF3, TypeCommandAMF3, TypeDataAMF0, TypeCommandAMF0})
	if fmt.Sprint(got) != want {
		t.Errorf("returned %v, want %v", got, want)
	}
	r.Recycle()
	if n := a.Stats().CheckedOut; n != 0 {
		t.Errorf("%d blocks are out", n)
	}
}
