package mp4

import (
	"bytes"
	"encoding/hex"
	"errors"
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
