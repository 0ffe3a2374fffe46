package record

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// A publisher whose headers change, or whose times jump, with each key frame does not fill the
// disk with files, and is recorded again when that has ended.
func TestFilesThatBeginTooOften(t *testing.T) {
	clip := movieClip(1, 0).batches
	for format, one := range map[Format]func(n uint32) [][]recTag{
		FLV: func(n uint32) [][]recTag {
			return [][]recTag{{recVideo(n, recConfig+fmt.Sprint(n)), recVideo(n, recKey)}}
		},
		MP4: func(n uint32) (list [][]recTag) {
			for _, batch := range clip {
				tag := batch[0]
				tag.Time += 60_000 * n
				list = append(list, []recTag{tag})
			}
			return list
		},
	} {
		t.Run(string(format), func(t *testing.T) {
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			r, dir := recNew(t, func(o *Options) { o.Format, o.Now = format, func() time.Time { return now } })
			src := &recSource{}
			for n := range uint32(2 * paceFiles) {
				src.batches = append(src.batches, one(n)...)
			}
			over := len(src.batches)
			src.before = func(n int) {
				if n == over {
					now = now.Add(paceTime)
				}
			}
			src.batches = append(src.batches, one(2*paceFiles)...)
			if err := r.Record(context.Background(), "live/s", src); err != nil {
				t.Fatal(err)
			}
			if n := len(recFiles(t, dir)); n != paceFiles+1 {
				t.Errorf("%d files, want %d and one later", n, paceFiles)
			}
		})
	}
}
