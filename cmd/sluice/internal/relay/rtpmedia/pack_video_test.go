package rtpmedia

import (
	"bytes"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// No unit of a picture is before its delimiter (H.264, section 7.4.1.2.3): parameter sets there would be of the
// picture before, or of one of their own.
func TestParameterSetsStandBehindTheDelimiter(t *testing.T) {
	c := configs(t)[0]
	f, err := NewFormat(c)
	if err != nil {
		t.Fatal(err)
	}
	delimiter, picture := []byte{9, 0x10}, []byte{0x65, 1, 2, 3}
	for _, parts := range [][][]byte{{delimiter, picture}, {picture}, {delimiter}} {
		u := &au.Unit{Video: true, Codec: c.Codec, Config: c, Key: true, Parts: parts}
		out, err := NewMuxer([]Format{f}).Append(nil, u, time.Unix(1e9, 0))
		if err != nil {
			t.Fatal(err)
		}
		want := append(append([][]byte{}, c.Sets...), parts...)
		if len(parts) > 1 {
			want = append(append([][]byte{delimiter}, c.Sets...), picture)
		}
		rtp, _ := packets(t, out)
		if len(rtp) != len(want) {
			t.Fatalf("% x: %d packets, want %d", parts, len(rtp), len(want))
		}
		for i, p := range rtp {
			if last := p[1]&0x80 != 0; !bytes.Equal(p[headerLen:], want[i]) || last != (i == len(want)-1) {
				t.Errorf("% x: packet %d is % x, the last: %v; want % x", parts, i, p[headerLen:], last, want[i])
			}
		}
	}
}
