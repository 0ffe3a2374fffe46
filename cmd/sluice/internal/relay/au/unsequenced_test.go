package au

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// The configuration of AV1 may have no sequence header: that of the first key frame counts, and
// of each that has another one, also when the header comes again.
func TestSequenceHeadersInKeyFramesAlone(t *testing.T) {
	whole := unhex(t, av1Hex)
	other := append([]byte{}, whole[4:]...)
	other[9] ^= 0x10 // another size of pictures
	header := append([]byte{0x90, 'a', 'v', '0', '1'}, 0x81, 0x00, 0x0c, 0x00)
	frame := func(first byte, obus ...[]byte) []byte {
		return append([]byte{first, 'a', 'v', '0', '1'}, bytes.Join(append([][]byte{{0x12, 0}}, obus...), nil)...)
	}
	picture := []byte{0x32, 2, 8, 9}
	const key, delta = 0x91, 0xa1
	var s Splitter
	split := func(body []byte) *Config {
		t.Helper()
		u, _, err := s.Split(flv.TagVideo, 0, body)
		if err != nil {
			t.Fatal(err)
		}
		return u.Config
	}
	split(header)
	if c := split(frame(key, picture)); c == nil || len(c.Sets) != 0 {
		t.Errorf("of nothing: %+v", c)
	}
	first := split(frame(key, whole[4:], picture))
	if first == nil || !bytes.Equal(first.Record, whole) {
		t.Fatalf("%+v", first)
	}
	split(header)
	if c := split(frame(delta, picture)); c != first {
		t.Errorf("after the header has come again: %+v", c)
	}
	if c := split(frame(key, whole[4:], picture)); c != first {
		t.Errorf("another configuration of the same sequence header: %+v", c)
	}
	if c := split(frame(key, other, picture)); c == nil || !bytes.Equal(c.Record[4:], other) {
		t.Errorf("of another sequence header: %+v", c)
	}
	if split(append(header[:5:5], whole...)); !bytes.Equal(s.video.Record, whole) {
		t.Errorf("of a header that has it: % x", s.video.Record)
	}
	split(frame(key, other, picture))
	if !bytes.Equal(s.video.Record, whole) {
		t.Errorf("a key frame has replaced what the header says: % x", s.video.Record)
	}
	split([]byte{0x17, 0, 0, 0, 0, 1, 0x42, 0, 0x1e, 0xff, 0xe1, 0, 4, 0x67, 1, 2, 3, 1, 0, 2, 0x68, 1})
	split(header)
	if len(s.video.Sets) != 0 {
		t.Error("another publisher's sequence header")
	}

	// Who asks for the tracks has it too, though the newest header does not.
	p := publishing(t)
	for i, body := range [][]byte{header, frame(key, whole[4:], picture), header, frame(delta, picture)} {
		if err := p.Publish(live.Frame{Type: flv.TagVideo, Time: uint32(i), Payload: mem.Wrap(body, nil)}); err != nil {
			t.Fatal(err)
		}
	}
	video, _, err := Discover(t.Context(), p.Stream(), 0, nil)
	if err != nil || video == nil || !bytes.Equal(video.Record, whole) {
		t.Errorf("%+v, %v", video, err)
	}
}

// Key frames of H.264 and HEVC whose stream has no sequence header may have the parameter sets: those of the newest one count.
func TestParameterSetsInKeyFramesAlone(t *testing.T) {
	sps, pps := []byte{0x67, 66, 0, 30, 0xe9}, []byte{0x68, 0xce}
	other := []byte{0x67, 77, 0, 31, 0xe9}
	frame := func(first byte, nals ...[]byte) []byte {
		p := []byte{first, 1, 0, 0, 0}
		for _, n := range nals {
			p = append(binary.BigEndian.AppendUint32(p, uint32(len(n))), n...)
		}
		return p
	}
	const key, delta = 0x17, 0x27
	idr, inter := []byte{0x65, 1}, []byte{0x41, 1}
	var s Splitter
	for i, c := range []struct {
		body []byte
		sps  []byte
	}{
		{frame(key, idr), nil},
		{frame(key, sps, pps, idr), sps},
		{frame(delta, inter), sps},
		{frame(key, other, pps, idr), other},
		{frame(key, idr), other},
		{append([]byte{key, 0, 0, 0, 0}, 1, 66, 0, 30, 0xff, 0xe1, 0, 5, 0x67, 66, 0, 30, 0xe9, 1, 0, 2, 0x68, 0xce), nil}, // a header
		{frame(key, other, pps, idr), sps},
	} {
		u, ok, err := s.Split(flv.TagVideo, 0, c.body)
		if err != nil || ok && u.Bare() != (c.sps == nil) || c.sps != nil && !bytes.Equal(u.Config.Sets[0], c.sps) {
			t.Errorf("%d: %+v, %v", i, u.Config, err)
		}
	}
}
