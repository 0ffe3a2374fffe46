package rtpmedia

import (
	"errors"
	"strings"
	"testing"
)

// ffmpeg describes codecs that it has no form for by a payload type alone.
func TestFormatsWithoutAForm(t *testing.T) {
	for encoding, want := range map[string]string{"": "payload type 97", "EAC3/48000/6": "EAC3/48000/6", "H264": "H264", "L16/44100/2": "L16/44100/2"} {
		if f, err := ParseFormat(false, 97, encoding, nil); !errors.Is(err, ErrCodec) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", encoding, f, err)
		}
	}
}
