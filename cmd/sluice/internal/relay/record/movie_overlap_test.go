package record

import (
	"slices"
	"testing"
)

// A publisher that comes back may begin a little before its own end. Each sample is decoded at a
// time of its own all the same, which players and ffmpeg ask for, also where a fragment ends between.
func TestMovieOfTimesThatOverlap(t *testing.T) {
	whole := slices.Concat(movieClip(1, 0).batches...)
	end := whole[len(whole)-1].Time
	for _, overlap := range []uint32{0, 1, 30, 31, 60, 100, 900} {
		r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
		src := movieClip(1, 0)
		src.batches = append(src.batches, movieClip(1, end-overlap).batches...)
		if err := r.Record(t.Context(), "live/s", src); err != nil {
			t.Fatal(err)
		}
		files := movieFiles(t, dir)
		if len(files) != 1 {
			t.Fatalf("files %q, want one", files)
		}
		list, _ := movieRead(t, files[0])
		for i, samples := range list {
			if want := len(movieWant()[i]); len(samples) < want*2 {
				t.Errorf("overlap of %d ms: track %d has %d samples, want twice %d", overlap, i+1, len(samples), want)
			}
			for k, s := range samples[1:] {
				if last := samples[k]; s.at <= last.at {
					t.Fatalf("overlap of %d ms: track %d, sample %d is decoded at %v, and the one before at %v", overlap, i+1, k+1, s.at, last.at)
				}
			}
		}
	}
}
