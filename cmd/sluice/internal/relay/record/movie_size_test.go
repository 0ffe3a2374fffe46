package record

import (
	"context"
	"testing"
)

// Key frames of VP9 say their size themselves, which the header says too: another one is in another
// file. Its sequence header does not change.
func TestMovieOfVP9ThatChangesItsSize(t *testing.T) {
	const (
		header = "\x90vp09\x01\x00\x00\x00\x00\x00\x82\x02\x02\x02\x00\x00"
		small  = "\x91vp09\x82\x49\x83\x42\x00\x13\xf0\x0e\xf6\x06\x38\x24\x1c\x18\x4a\x00" // 320x240
		large  = "\x91vp09\x82\x49\x83\x42\x00\x1d\xf0\x16\x76\x06\x38\x24\x1c\x18\x4a\x00" // 480x360
		other  = "\xa1vp09\x86\x00\x40\x92"
	)
	r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
	var batch []recTag
	for i, body := range []string{header, small, other, small, other, large, other, header, large, other} {
		batch = append(batch, recVideo(uint32(40*i), body))
	}
	if err := r.Record(context.Background(), "live/s", &recSource{batches: [][]recTag{batch}}); err != nil {
		t.Fatal(err)
	}
	files := movieFiles(t, dir)
	if len(files) != 2 {
		t.Fatalf("files %q, want 2", files)
	}
	for _, name := range files {
		if list, _ := movieRead(t, name); len(list[0]) != 4 || !list[0][0].key {
			t.Errorf("%s: pictures %+v, want 4 from a key frame on", name, list[0])
		}
	}
}
