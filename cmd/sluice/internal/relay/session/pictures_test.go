package session

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// setsOf are the parameter sets of H.264 or HEVC before a picture to start at, each behind its length.
func setsOf(t *testing.T, codec flv.FourCC) (body string) {
	t.Helper()
	for _, one := range map[flv.FourCC][]string{
		flv.CodecAVC:  {"Z0LADdoFB+wEQAAAAwBAAAAMg8UKqA==", "aM4PyA==", "ZQE="},
		flv.CodecHEVC: {"QAEMAf//AWAAAAMAkAAAAwAAAwA8lZgJ", "QgEBAWAAAAMAkAAAAwAAAwA8oAoIDxZZWaSTK8BaAgAAAwACAAADADIQ", "RAHBcrRiQA==", "JgEB"},
	}[codec] {
		b, err := base64.StdEncoding.DecodeString(one)
		if err != nil {
			t.Fatal(err)
		}
		body += fmt.Sprintf("\x00\x00\x00%c%s", len(b), b)
	}
	return body
}

// Pictures before their sequence header are left out of what publishers send by RTMP and FLV, up to the key frame behind
// it. The parameter sets of a key frame make the header. The log says once what is left out, and nothing of a
// stream that begins with the rest of a group.
func TestPicturesBeforeTheirSequenceHeader(t *testing.T) {
	const (
		header  = "\x17\x00\x00\x00\x00\x01\x42\x00\x1e\xff\xe1\x00\x04\x67\x01\x02\x03\x01\x00\x02\x68\x01"
		key     = "\x17\x01\x00\x00\x00\x00\x00\x00\x02\x65\x01"
		picture = "\x27\x01\x00\x00\x00\x00\x00\x00\x02\x41\x01"
		end     = "\x17\x02\x00\x00\x00"
		sound   = "\xaf\x01\x21\x10\x04\x60\x8c\x1c"
		hevc    = "\xa3hvc1\x00\x00\x00\x03\x02\x01\x01"
	)
	whole := "\x17\x01\x00\x00\x00" + setsOf(t, flv.CodecAVC)
	wholeHEVC := "\x91hvc1\x00\x00\x00" + setsOf(t, flv.CodecHEVC)
	for _, c := range []struct {
		name   string
		frames []string
		want   string // what becomes of each; m: a header is made before it, -: it is left out
		said   bool
	}{
		{"whole", []string{sound, header, key, picture, key}, "+++++", false},
		{"the rest of a group", []string{picture, picture, header, key, picture}, "--+++", false},
		{"a header inside of a group", []string{header, picture, key, picture}, "++++", false},
		{"a late header", []string{key, sound, picture, key, header, picture, key, picture}, "-+--+-++", true},
		{"a header twice", []string{key, header, header, key, picture}, "-++++", true},
		{"never", []string{key, picture, end, key, sound}, "--+-+", true},
		{"parameter sets", []string{picture, whole, picture, whole, picture, whole}, "-m++++", false},
		{"later parameter sets", []string{key, picture, whole, picture, key, picture}, "--m+++", true},
		{"parameter sets, then a header", []string{whole, picture, header, picture, key, picture}, "m+++++", false},
		{"HEVC", []string{wholeHEVC, hevc, wholeHEVC, hevc}, "m+++", false},
		{"AV1", []string{"\x91av01\x12\x00", "\xa1av01\x12\x00"}, "++", false},
		{"several tracks", []string{"\x96\x01hvc1\x00\x00\x00\x00\x01", "\xa6\x01hvc1\x00\x00\x00\x00\x01"}, "++", false},
		{"broken", []string{"\x17", "\x17\x01\x00\x00\x00", "\x17\x01\x00\x00\x00\xff", key}, "++--", true},
	} {
		var log bytes.Buffer
		s := &Client{books: &Register{log: slog.New(slog.NewTextHandler(&log, nil))}}
		got := ""
		for _, frame := range c.frames {
			f := live.Frame{Type: flv.TagVideo, Time: 7, Payload: mem.Wrap([]byte(frame), nil)}
			if frame == sound {
				f.Type = flv.TagAudio
			}
			header, ok := s.Came(&f)
			switch {
			case !ok:
				got += "-"
			case !header.Payload.Valid():
				got += "+"
			default:
				got += "m"
				p := header.Payload.Bytes()
				h, err := flv.ParseVideo(p)
				if err != nil || !h.Config() || h.Enhanced != strings.Contains(frame, "hvc1") || header.Type != flv.TagVideo || header.Time != 7 {
					t.Errorf("%s: %+v, %v", c.name, h, err)
				} else if v, err := flv.ParseVideoConfig(h.Codec, h.Body(p)); err != nil || v.Width != 320 || v.Height != 240 {
					t.Errorf("%s: a header of %+v, %v", c.name, v, err)
				}
				header.Payload.Release()
			}
			if string(f.Payload.Bytes()) != frame {
				t.Errorf("%s: %q has become %q", c.name, frame, f.Payload.Bytes())
			}
		}
		if lines := strings.Count(log.String(), "left out"); got != c.want || (lines == 1) != c.said {
			t.Errorf("%s: %s, want %s; the log: %q", c.name, got, c.want, log.String())
		}
		if s.Figures().Frames != int64(len(c.frames)) {
			t.Errorf("%s: %d frames are counted", c.name, s.Figures().Frames)
		}
	}
}
