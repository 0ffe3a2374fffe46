package record

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/flv"
)

// What is kept for the next file is copies that count for no limit: 16 sequence headers and the metadata, each as
// long as a frame may be, were 136 MiB for each recording.
func TestWhatIsKeptForTheNextFileIsBounded(t *testing.T) {
	track := func(n, size int) recTag {
		return recVideo(0, "\x96\x00vp09"+string(rune(n))+strings.Repeat("x", size))
	}
	same := []recTag{track(1, maxHeaderBytes/2), recVideo(5, recKey)}
	for range 4 {
		same = append(same, track(1, maxHeaderBytes/2-1), track(1, maxHeaderBytes/2))
	}
	for name, c := range map[string]struct {
		tags []recTag
		err  error
	}{
		"many":               {[]recTag{track(1, maxHeaderBytes/2), track(2, maxHeaderBytes/2)}, errHeaderBytes},
		"one":                {[]recTag{track(1, maxHeaderBytes)}, errHeaderBytes},
		"one that grows":     {[]recTag{track(1, 10), track(1, maxHeaderBytes)}, errHeaderBytes},
		"another each time":  {same, nil},
		"one below the most": {[]recTag{track(1, maxHeaderBytes-7)}, nil},
	} {
		r, _ := recNew(t, nil)
		if err := r.Record(context.Background(), "live/s", &recSource{batches: [][]recTag{c.tags}}); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
	}

	r, dir := recNew(t, nil)
	long := recTag{flv.TagScript, 0, recMeta[:len(recMeta)-3] + strings.Repeat("x", maxMetadata)}
	src := &recSource{batches: [][]recTag{{{flv.TagScript, 0, recMeta}, long, recVideo(0, recConfig), recVideo(0, recKey), long, recVideo(40, recInter)}}}
	if err := r.Record(context.Background(), "live/s", src); err != nil {
		t.Fatal(err)
	}
	_, tags := recReadFile(t, recFiles(t, dir)[0])
	recCompare(t, tags, []recTag{recVideo(0, recConfig), recVideo(0, recKey), recVideo(40, recInter)})
}
