package session

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
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
// stream that begins with the rest of a group. So it is too when another process goes on with the publisher.
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
		{"a header twice", []string{key, header, header, picture, key, picture}, "-++-++", true},
		{"never", []string{key, picture, end, key, sound}, "--+-+", true},
		{"parameter sets", []string{picture, whole, picture, whole, picture, whole}, "-m++++", false},
		{"later parameter sets", []string{key, picture, whole, picture, key, picture}, "--m+++", true},
		{"parameter sets, then a header", []string{whole, picture, header, picture, key, picture}, "m+++++", false},
		{"HEVC", []string{wholeHEVC, hevc, wholeHEVC, hevc}, "m+++", false},
		{"AV1", []string{"\x91av01\x12\x00", "\xa1av01\x12\x00"}, "++", false},
		{"several tracks", []string{"\x96\x01hvc1\x00\x00\x00\x00\x01", "\xa6\x01hvc1\x00\x00\x00\x00\x01"}, "++", false},
		{"another codec", []string{key, wholeHEVC, hevc}, "-m+", true},
		{"no pictures", []string{"\x57\x00\x01", "\x94hvc1\x02\x00\x09colorInfo", end + "\x01", picture}, "+++-", false},
		{"broken", []string{"\x17", "\x17\x01\x00\x00\x00", "\x17\x01\x00\x00\x00\xff", key}, "++--", true},
	} {
		for _, moves := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in another process each: %v", c.name, moves), func(t *testing.T) {
				var log bytes.Buffer
				s, got := NewRegister(slog.New(slog.NewTextHandler(&log, nil))).Enter(RolePublisher, Info{}), ""
				for _, frame := range c.frames {
					got += becomes(t, s, frame, frame == sound)
					if moves {
						s = moved(t, s)
					}
				}
				if lines := strings.Count(log.String(), "left out"); got != c.want || (lines == 1) != c.said {
					t.Errorf("%s, want %s; the log: %q", got, c.want, log.String())
				}
				if s.Figures().Frames != int64(len(c.frames)) {
					t.Errorf("%d frames are counted", s.Figures().Frames)
				}
			})
		}
	}
}

// becomes returns what becomes of a frame: m: a header is made before it, -: it is left out.
func becomes(t *testing.T, s *Client, frame string, sound bool) string {
	t.Helper()
	f := live.Frame{Type: flv.TagVideo, Time: 7, Payload: mem.Wrap([]byte(frame), nil)}
	if sound {
		f.Type = flv.TagAudio
	}
	header, ok := s.Came(&f)
	if string(f.Payload.Bytes()) != frame {
		t.Errorf("%q has become %q", frame, f.Payload.Bytes())
	}
	switch {
	case !ok:
		return "-"
	case !header.Payload.Valid():
		return "+"
	}
	p := header.Payload.Bytes()
	h, err := flv.ParseVideo(p)
	if err != nil || !h.Config() || h.Enhanced != strings.Contains(frame, "hvc1") || header.Type != flv.TagVideo || header.Time != 7 {
		t.Errorf("%+v, %v", h, err)
	} else if v, err := flv.ParseVideoConfig(h.Codec, h.Body(p)); err != nil || v.Width != 320 || v.Height != 240 {
		t.Errorf("a header of %+v, %v", v, err)
	}
	header.Payload.Release()
	return "m"
}

// moved is a publisher that goes on in another process.
func moved(t *testing.T, s *Client) *Client {
	t.Helper()
	m := Mover{Client: s}
	state, _, err := m.State(new(Host))
	if err != nil {
		t.Fatal(err)
	}
	message, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	var there Moved
	if err := json.Unmarshal(message, &there); err != nil {
		t.Fatal(err)
	}
	return s.books.resume(&there)
}
