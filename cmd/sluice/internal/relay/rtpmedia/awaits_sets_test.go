package rtpmedia

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A track whose parameter sets do not come is named, once; when they come its pictures do.
func TestPicturesThatWaitForTheirParameterSets(t *testing.T) {
	for _, c := range []struct{ bare, left int }{{3, 0}, {12, 1}} { // key frames without sets
		alloc := mem.New(mem.Options{})
		sluicetest.NoLeaks(t, alloc)
		f, err := ParseFormat(true, 96, "H264/90000", nil)
		if err != nil {
			t.Fatal(err)
		}
		pictures := 0
		var left []string
		x, err := NewIntake([]Track{{Format: f}}, alloc, 1<<20, func(f live.Frame) error {
			if h, err := flv.ParseVideo(f.Payload.Bytes()); f.Type == flv.TagVideo && err == nil && !h.Config() {
				pictures++
			}
			f.Payload.Release()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		x.OnLeftOut(func(what string) { left = append(left, what) })
		number := uint16(0)
		push := func(at uint32, last bool, unit []byte) {
			p := []byte{0x80, 96}
			if last {
				p[1] |= 0x80
			}
			p = binary.BigEndian.AppendUint16(p, number)
			p = binary.BigEndian.AppendUint32(p, at)
			p = append(append(p, 0, 0, 0, 1), unit...)
			number++
			if err := x.Push(0, mem.Wrap(p, nil), time.Unix(1e9, int64(at))); err != nil {
				t.Fatal(err)
			}
		}
		for i := range uint32(c.bare + 1) {
			if int(i) == c.bare {
				push(7200*i, false, avcSets[0])
				push(7200*i, false, avcSets[1])
			}
			push(7200*i, true, []byte{0x65, 0x88, 2, 3})
			push(7200*i+3600, true, []byte{0x41, 0x9a, 5, 6})
		}
		if pictures != 2 {
			t.Errorf("%d key frames without sets: %d pictures", c.bare, pictures)
		}
		if len(left) != c.left || c.left > 0 && !strings.Contains(left[0], "parameter sets") {
			t.Errorf("%d key frames without sets: left out are %q", c.bare, left)
		}
	}
}
