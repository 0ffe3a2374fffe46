package ingest_test

import (
	"fmt"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/ingest"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
	"github.com/sluice-go/sluice/sluicetest"
)

func Example() {
	m := rtmp.Message{
		Type:    rtmp.TypeDataAMF0,
		Time:    40,
		Payload: mem.Wrap([]byte("\x02\x00\x0d@setDataFrame\x02\x00\x0aonMetaData\x05"), nil),
	}
	f, ok := ingest.Frame(m)
	fmt.Println(ok, f.Type, f.Time, f.Payload.Len())
	f.Payload.Release()
	// Output: true script 40 14
}

func TestFrame(t *testing.T) {
	const meta = "\x02\x00\x0aonMetaData\x05"
	sluicetest.NoLeaks(t, nil)
	for _, c := range []struct {
		name     string
		typ      rtmp.MessageType
		in, out  string // out is empty when there is no frame
		kind     flv.TagType
		noMemory bool
	}{
		{name: "audio", typ: rtmp.TypeAudio, in: "\xaf\x01x", out: "\xaf\x01x", kind: flv.TagAudio},
		{name: "video", typ: rtmp.TypeVideo, in: "\x17\x01\x00\x00\x00", out: "\x17\x01\x00\x00\x00", kind: flv.TagVideo},
		{name: "metadata", typ: rtmp.TypeDataAMF0, in: meta, out: meta, kind: flv.TagScript},
		{name: "metadata of a publisher", typ: rtmp.TypeDataAMF0, in: "\x02\x00\x0d@setDataFrame" + meta, out: meta, kind: flv.TagScript},
		{name: "a command alone", typ: rtmp.TypeDataAMF0, in: "\x02\x00\x0d@setDataFrame"},
		{name: "no metadata any more", typ: rtmp.TypeDataAMF0, in: "\x02\x00\x0f@clearDataFrame" + meta},
		{name: "what a server says", typ: rtmp.TypeDataAMF0, in: "\x02\x00\x11|RtmpSampleAccess\x01\x01\x01\x01"},
		{name: "what a server says", typ: rtmp.TypeDataAMF0, in: "\x02\x00\x08onStatus\x05"},
		{name: "metadata in AMF3", typ: rtmp.TypeDataAMF0, in: "\x02\x00\x0d@setDataFrame\x02\x00\x0aonMetaData\x11\x0a\x0b\x01\x01"},
		{name: "other data", typ: rtmp.TypeDataAMF0, in: "\x02\x00\x01x", out: "\x02\x00\x01x", kind: flv.TagScript},
		{name: "what is cut off", typ: rtmp.TypeDataAMF0, in: "\x02", out: "\x02", kind: flv.TagScript},
		{name: "nothing", typ: rtmp.TypeVideo},
		{name: "no memory", typ: rtmp.TypeVideo, noMemory: true},
		{name: "no memory for data", typ: rtmp.TypeDataAMF0, noMemory: true},
		{name: "AMF 3", typ: rtmp.TypeDataAMF3, in: "\x11x"},
		{name: "a command", typ: rtmp.TypeCommandAMF0, in: "\x02\x00\x04play"},
		{name: "an unknown type", typ: 77, in: "x"},
	} {
		m := rtmp.Message{Type: c.typ, Time: 7}
		if !c.noMemory {
			m.Payload = mem.Default().Get(len(c.in))
			copy(m.Payload.Bytes(), c.in)
		}
		f, ok := ingest.Frame(m)
		if ok != (c.out != "") {
			t.Errorf("%s: %v", c.name, ok)
		}
		if !ok {
			continue
		}
		if got := string(f.Payload.Bytes()); got != c.out || f.Type != c.kind || f.Time != 7 {
			t.Errorf("%s: %v at %d, %q", c.name, f.Type, f.Time, got)
		}
		f.Payload.Release()
	}
}

func TestFrameAllocatesNothing(t *testing.T) {
	for _, m := range []rtmp.Message{
		{Type: rtmp.TypeVideo, Payload: mem.Default().Get(1000)},
		{Type: rtmp.TypeDataAMF0, Payload: mem.Default().Get(1000)},
	} {
		copy(m.Payload.Bytes(), "\x02\x00\x0d@setDataFrame\x02\x00\x0aonMetaData")
		got := testing.AllocsPerRun(100, func() {
			f, ok := ingest.Frame(rtmp.Message{Type: m.Type, Payload: m.Payload.Retain()})
			if ok {
				f.Payload.Release()
			}
		})
		if got != 0 {
			t.Errorf("%v: %v allocations", m.Type, got)
		}
		m.Payload.Release()
	}
}
