package rtmp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// aggregatePart appends a part of an aggregate message, with its back pointer.
func aggregatePart(dst []byte, typ MessageType, time uint32, body []byte) []byte {
	n := len(body)
	dst = append(dst, byte(typ), byte(n>>16), byte(n>>8), byte(n),
		byte(time>>16), byte(time>>8), byte(time), byte(time>>24), 0, 0, 0)
	dst = append(dst, body...)
	return binary.BigEndian.AppendUint32(dst, uint32(partHeader+n))
}

func TestAggregateIsTakenApart(t *testing.T) {
	var p []byte
	p = aggregatePart(p, TypeVideo, 5000, []byte{1, 2, 3})
	p = aggregatePart(p, TypeAudio, 5010, nil)
	p = aggregatePart(p, 99, 5015, []byte{9})
	p = aggregatePart(p, TypeAudio, 4990, bytes.Repeat([]byte{7}, 200))
	p = aggregatePart(p, TypeDataAMF0, 5000+1<<24, []byte{5})
	for name, cut := range map[string]int{"whole": 0, "without its last back pointer": partBack} {
		in := AppendChunkHeader(nil, 6, TypeAggregate, 1, 100, len(p)-cut)
		for i := 0; i < len(p)-cut; i += InitialChunkSize {
			if i > 0 {
				in = AppendContinuation(in, 6, 100)
			}
			in = append(in, p[i:min(i+InitialChunkSize, len(p)-cut)]...)
		}
		b, a := chunkSource(bytes.NewReader(in), mem.Options{})
		sluicetest.NoLeaks(t, a)
		c := NewConn(b, sluice.NewBufWriter(io.Discard), Options{})
		var got []chunkMessage
		var err error
		for {
			var m Message
			if m, err = c.ReadMessage(); err != nil {
				break
			}
			got = append(got, chunkPlain(&m))
		}
		t.Log(name)
		chunkCheck(t, got, []chunkMessage{
			{TypeVideo, 6, 1, 100, []byte{1, 2, 3}},
			{TypeAudio, 6, 1, 110, nil},
			{TypeAudio, 6, 1, 90, bytes.Repeat([]byte{7}, 200)},
			{TypeDataAMF0, 6, 1, 100 + 1<<24, []byte{5}},
		}, err)
		c.Recycle()
		b.Recycle()
	}
}

func TestBrokenAggregates(t *testing.T) {
	good := aggregatePart(nil, TypeVideo, 0, []byte{1, 2, 3})
	for name, p := range map[string][]byte{
		"a part's header is cut": append(bytes.Clone(good), 9, 0, 0),
		"a part's body is cut":   append(bytes.Clone(good), 9, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1, 2),
		"a length of 2^24 - 1":   {9, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0},
	} {
		b, a := chunkSource(bytes.NewReader(hostileMessage(TypeAggregate, p)), mem.Options{})
		sluicetest.NoLeaks(t, a)
		c := NewConn(b, sluice.NewBufWriter(io.Discard), Options{})
		var err error
		for err == nil {
			var m Message
			if m, err = c.ReadMessage(); err == nil {
				m.Release()
			}
		}
		if !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
		c.Recycle()
		b.Recycle()
	}
}

// What is left of an aggregate message is not forgotten when its reader goes.
func TestRecycleInsideAnAggregate(t *testing.T) {
	p := aggregatePart(aggregatePart(nil, TypeVideo, 0, []byte{1}), TypeVideo, 0, []byte{2})
	b, a := chunkSource(bytes.NewReader(hostileMessage(TypeAggregate, p)), mem.Options{})
	sluicetest.NoLeaks(t, a)
	c := NewConn(b, sluice.NewBufWriter(io.Discard), Options{})
	m, err := c.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	c.Recycle()
	b.Recycle()
}
