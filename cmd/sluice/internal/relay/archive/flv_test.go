package archive

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// A recording in FLV whose server was killed is as long as its tags say, also when the last
// one is cut.
func TestLengthOfARecordingThatDidNotEnd(t *testing.T) {
	const began = "20260102-030405"
	tag := func(p []byte, at uint32, payload []byte) []byte {
		p = flv.TagHeader{Type: flv.TagVideo, Size: len(payload), Time: at}.Append(p)
		p = append(p, payload...)
		n := flv.TagHeaderLen + len(payload)
		return append(p, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	head := append(flv.Header{Video: true}.Append(nil), 0, 0, 0, 0)
	long := bytes.Repeat([]byte{0xff, 0, 0, 15}, 75_000) // sizes of tags, where there are none
	whole := tag(tag(head, 0, long), 8011, long)
	named, err := time.ParseInLocation("20060102-150405", began, time.Local)
	if err != nil {
		t.Fatal(err)
	}
	const changed = 7161 * time.Millisecond // after the name's second
	for _, c := range []struct {
		name string
		file []byte
		want time.Duration
	}{
		{"whole", whole, 8011 * time.Millisecond},
		{"one tag", tag(head, 0, []byte("x")), 0},
		{"cut in the last size", whole[:len(whole)-1], 0},
		{"cut in the last tag", whole[:len(whole)-1000], 0},
		{"cut behind its head", whole[:len(head)+flv.TagHeaderLen+len(long)+4+flv.TagHeaderLen], 0},
		{"a few bytes behind", append(bytes.Clone(whole), 9, 0, 0), 8011 * time.Millisecond},
		{"zeroes behind", append(bytes.Clone(whole), make([]byte, 2<<20)...), changed},
		{"the clip, which says how long it is", flvclip.File, 10067 * time.Millisecond},
		{"no tag", head, changed},
		{"half a head", head[:5], changed},
		{"empty", nil, changed},
		{"something else", long, changed},
	} {
		a, _, dir := newArchive(t, "flv")
		name := filepath.Join(dir, "live", "s-"+began+".flv")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, c.file, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, time.Time{}, named.Add(changed)); err != nil {
			t.Fatal(err)
		}
		list, _, err := a.List("", 1)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %v, %v", c.name, list, err)
		}
		if d := list[0].Length - c.want; d.Abs() > time.Millisecond {
			t.Errorf("%s: %v, want %v", c.name, list[0].Length, c.want)
		}
	}
}
