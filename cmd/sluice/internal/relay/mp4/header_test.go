package mp4

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// The sequence header of SVT-AV1 4.0 in ffmpeg 9 says that there are display delays, which
// the library that writes the header does not read.
func TestHeaderOfSVT(t *testing.T) {
	sequence, err := hex.DecodeString("0a0b0200000521e7f66257c802")
	if err != nil {
		t.Fatal(err)
	}
	c, err := au.ParseConfig(flv.CodecAV1, append([]byte{0x81, 0, 0x0c, 0}, sequence...))
	if err != nil {
		t.Fatal(err)
	}
	track, err := NewTrack(1, &au.Unit{Video: true, Codec: flv.CodecAV1, Config: c, Key: true, Parts: [][]byte{sequence}})
	if err != nil {
		t.Fatal(err)
	}
	header, _, err := Header([]Track{track})
	if err != nil || !bytes.Contains(header, []byte("av1C\x81\x00\x0c\x00")) {
		t.Errorf("%v: %x", err, header)
	}
	list, err := Configs(header)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	v, err := flv.ParseVideoConfig(flv.CodecAV1, list[0].Config.Record)
	if want, _ := flv.ParseVideoConfig(flv.CodecAV1, c.Record); err != nil || v != want || v.Width != 320 || v.Height != 180 {
		t.Errorf("%+v, %v, want %+v", v, err, want)
	}
}

func TestOpusOfManyChannels(t *testing.T) {
	for channels, want := range map[int]error{1: nil, 2: nil, 6: ErrCodec} {
		_, err := NewTrack(1, &au.Unit{Codec: flv.CodecOpus, Config: au.NewOpusConfig(channels), Key: true, Parts: [][]byte{{0xfc, 1}}})
		if !errors.Is(err, want) {
			t.Errorf("%d channels: %v", channels, err)
		}
	}
}

// ffmpeg sends the stream information of FLAC without what is before it in a file.
func TestHeaderOfFLAC(t *testing.T) {
	info := "\x10\x00\x10\x00\x00\x00\x00\x00\x00\x00" + "\x0b\xb8\x02\xf0" + "01234567890123456789"
	for name, record := range map[string]string{"bare": info, "of a file": "fLaC\x80\x00\x00\x22" + info} {
		c, err := au.ParseConfig(flv.CodecFLAC, []byte(record))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		track, err := NewTrack(1, &au.Unit{Codec: flv.CodecFLAC, Config: c, Key: true, Parts: [][]byte{{0xff, 0xf8}}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if header, _, err := Header([]Track{track}); err != nil || !bytes.Contains(header, []byte(info)) {
			t.Errorf("%s: %v: %x", name, err, header)
		}
	}
}

// A file has the configuration of the stream: every parameter set, and all that AAC says of itself.
func TestHeaderHasTheConfigurationOfTheStream(t *testing.T) {
	const sps = "\x67\x42\xc0\x1e\xda\x02\x80\xbf\xe5\xc0\x44\x00\x00\x03\x00\x04\x00\x00\x03\x00\xc8\x3c\x58\xba\x80"
	avc := func(length byte) []byte {
		p := []byte("\x01\x42\xc0\x1e\xfc\xe1\x00\x19" + sps + "\x02\x00\x04\x68\xce\x0f\xc8\x00\x04\x68\x53\x83\xf2")
		p[4] |= length - 1
		return p
	}
	hevc := "\x01\x01\x60\x00\x00\x00\x90\x00\x00\x00\x00\x00\x3c\xf0\x00\xfc\xfd\xf8\xf8\x00\x00\x0f\x03" +
		"\xa0\x00\x01\x00\x18\x40\x01\x0c\x01\xff\xff\x01\x60\x00\x00\x03\x00\x90\x00\x00\x03\x00\x00\x03\x00\x3c\x95\x94\x09" +
		"\xa1\x00\x01\x00\x2b\x42\x01\x01\x01\x60\x00\x00\x03\x00\x90\x00\x00\x03\x00\x00\x03\x00\x3c\xa0\x0a\x08\x0c\x1f\x3e\x59\x59\x52\x93\x0b\xc0\x5a\x02\x00\x00\x03\x00\x02\x00\x00\x03\x00\x32\x10" +
		"\xa2\x00\x02\x00\x06\x44\x01\xc0\x73\xc1\x89\x00\x07\x44\x01\x50\x1c\xf0\x62\x40"
	for name, c := range map[string]struct {
		codec        flv.FourCC
		record, want string
	}{
		"H.264 of two picture parameter sets": {flv.CodecAVC, string(avc(4)), string(avc(4))},
		"with lengths of two bytes":           {flv.CodecAVC, string(avc(2)), string(avc(4))}, // of a file they have four
		"HEVC of two picture parameter sets":  {flv.CodecHEVC, hevc, hevc},
		"AAC":                                 {flv.CodecAAC, "\x11\x90", "\x11\x90"},
		"AAC whose channels are spelled out":  {flv.CodecAAC, "\x11\x80\x04\xc4\x04\x00\x21\x10\x0d\x4c\x61\x76\x63\x35\x39\x2e\x33\x37\x2e\x31\x30\x30\x56\xe5\x00", ""},
		"of which a decoder of AAC-LC knows":  {flv.CodecAAC, "\x13\x10\x56\xe5\x98", ""},
		"HE-AAC of frames of 960 samples":     {flv.CodecAAC, "\x2b\x11\x8a\x00", ""},
		"AAC-ELD":                             {flv.CodecAAC, "\xf8\xe8\x50\x00", ""},
		"AAC with a long comment":             {flv.CodecAAC, "\x11\x80\x04\xc4\x04\x00\x21\x10\xc8" + strings.Repeat("c", 200), ""},
	} {
		config, err := au.ParseConfig(c.codec, []byte(c.record))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		u := au.Unit{Video: c.codec != flv.CodecAAC, Codec: c.codec, Config: config, Key: true, Parts: [][]byte{{1}}}
		track, err := NewTrack(2, &u)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		other, err := NewTrack(1, &au.Unit{Codec: flv.CodecOpus, Config: au.NewOpusConfig(2), Key: true, Parts: [][]byte{{0xfc, 1}}})
		if err != nil {
			t.Fatal(err)
		}
		header, _, err := Header([]Track{other, track})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		list, err := Configs(header)
		if err != nil || len(list) != 2 || list[0].Config.Codec != flv.CodecOpus {
			t.Errorf("%s: %v %v", name, list, err)
			continue
		}
		if got := list[1]; string(got.Config.Record) != cmp.Or(c.want, c.record) || got.ID != 2 || got.Scale != track.Scale || got.Video != u.Video {
			t.Errorf("%s: %+v, record % x, want % x", name, got, got.Config.Record, cmp.Or(c.want, c.record))
		}
	}
}
