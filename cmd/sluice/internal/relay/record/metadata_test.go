package record

import (
	"context"
	"testing"

	"github.com/sluice-go/sluice/flv"
)

// Metadata that changes is that of the next file. The file that is being written has none in the middle, and does not
// end with that of the next publisher: ffmpeg takes it for a track of subtitles.
func TestMetadataThatChangesIsOfTheNextFile(t *testing.T) {
	other := recMeta[:len(recMeta)-3] + "\x00\x01x\x05\x00\x00\x09"
	r, dir := recNew(t, nil)
	src := &recSource{batches: [][]recTag{
		{{flv.TagScript, 0, recMeta}, recVideo(0, recConfig+"A"), recVideo(0, recKey), recVideo(40, recInter)},
		{{flv.TagScript, 80, other}, recVideo(80, recInter), {flv.TagScript, 120, recMeta}, recVideo(120, recInter)},
		{{flv.TagScript, 160, other}, recVideo(160, recConfig+"B"), recVideo(160, recKey+"B")},
	}}
	if err := r.Record(context.Background(), "live/s", src); err != nil {
		t.Fatal(err)
	}
	want := [][]recTag{
		{{flv.TagScript, 0, recMeta}, recVideo(0, recConfig+"A"), recVideo(0, recKey), recVideo(40, recInter), recVideo(80, recInter), recVideo(120, recInter)},
		{{flv.TagScript, 0, other}, recVideo(0, recConfig+"B"), recVideo(0, recKey+"B")},
	}
	recCompareFiles(t, dir, "live/s", want)
}
