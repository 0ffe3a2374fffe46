package record

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
)

// When the clock is set, another file begins at the next key frame: each has the times of day by
// one clock, and nothing is lost.
func TestClockThatIsSet(t *testing.T) {
	for _, by := range []time.Duration{3 * time.Hour, -3 * time.Hour, 2 * time.Second, -2 * time.Second} {
		r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
		clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
		set := time.Duration(0)
		r.now = func() time.Time { return clock.Add(set) }
		read := time.Duration(0) // what it was set by when it was read
		r.stepped = func(_, _ time.Time) time.Duration {
			step := set - read
			read = set
			return step
		}
		src := movieClip(1, 0)
		src.before = func(n int) {
			if n < len(src.batches) {
				clock = time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local).Add(time.Duration(src.batches[n][0].Time) * time.Millisecond)
			}
			if n == 2*len(src.batches)/5 {
				set = by
			}
		}
		if err := r.Record(context.Background(), "live/s", src); err != nil {
			t.Fatal(err)
		}
		files := recFiles(t, dir)
		if len(files) != 2 {
			t.Fatalf("set by %v: files %q", by, files)
		}
		first, x := movieRead(t, files[0])
		second, y := movieRead(t, files[1])
		if x.Begin().After(y.Begin()) != (by < -5*time.Second) {
			first, x, second, y = second, y, first, x
		}
		if apart := y.Begin().Sub(x.Begin().Add(x.Length())) - by; apart.Abs() > 100*time.Millisecond {
			t.Errorf("set by %v: from %v for %v, and from %v", by, x.Begin(), x.Length(), y.Begin())
		}
		end := y.Fragments[len(y.Fragments)-1]
		if apart := end.Wall.Add(end.Length).Sub(r.now()); apart.Abs() > 100*time.Millisecond {
			t.Errorf("set by %v: the last fragment ends %v from now", by, apart)
		}
		want := movieWant()
		for i := range want {
			if n := len(first[i]) + len(second[i]); n != len(want[i]) {
				t.Errorf("set by %v: track %d has %d samples, want %d", by, i+1, n, len(want[i]))
			}
			if !slices.IsSortedFunc(x.Fragments, func(a, b mp4.Fragment) int { return a.Wall.Compare(b.Wall) }) {
				t.Errorf("set by %v: times of day go back", by)
			}
		}
	}
}

// A stream whose publishers come back goes on without the times in between, and an encoder's clock
// may be slow: another file begins, so that times of day do not fall behind for ever. What comes
// late and then in a burst is no such stream.
func TestStreamThatFallsBehind(t *testing.T) {
	for name, test := range map[string]struct {
		late  func(at time.Duration) time.Duration // of 60 s
		files int
	}{
		"a publisher comes back": {func(at time.Duration) time.Duration { return min(at/(20*time.Second), 1) * 1500 * time.Millisecond }, 2},
		"slow clock":             {func(at time.Duration) time.Duration { return at / 25 }, 2},
		"burst":                  {func(at time.Duration) time.Duration { return max(8*time.Second-(at-20*time.Second).Abs(), 0) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
			src := movieClip(1, 0)
			for range 5 {
				last := src.batches[len(src.batches)-1][0].Time
				src.batches = append(src.batches, movieClip(1, last+20).batches...)
			}
			began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
			clock := began
			r.now = func() time.Time { return clock }
			src.before = func(n int) {
				if n < len(src.batches) {
					at := time.Duration(src.batches[n][0].Time) * time.Millisecond
					clock = began.Add(at + test.late(at))
				}
			}
			if err := r.Record(context.Background(), "live/s", src); err != nil {
				t.Fatal(err)
			}
			files := recFiles(t, dir)
			if len(files) != test.files {
				t.Fatalf("files %q", files)
			}
			var samples [2]int
			var end time.Time
			for _, name := range files {
				list, x := movieRead(t, name)
				for i := range list {
					samples[i] += len(list[i])
				}
				if x.Begin().Before(end) {
					t.Errorf("%s begins at %v, the one before ends at %v", name, x.Begin(), end)
				}
				last := x.Fragments[len(x.Fragments)-1]
				end = last.Wall.Add(last.Length)
			}
			if apart := clock.Sub(end); apart.Abs() > clockSet {
				t.Errorf("the last fragment ends %v before now", apart)
			}
			for i, want := range movieWant() {
				if samples[i] != 6*len(want) {
					t.Errorf("track %d has %d samples, want %d", i+1, samples[i], 6*len(want))
				}
			}
		})
	}
}

// Where the stream's times jump, as those of a publisher who begins again at 0, the file ends: what is in its last
// fragment came before that, and has the times of day of then.
func TestTheLastFragmentBeforeTimesJump(t *testing.T) {
	for _, jump := range []time.Duration{-time.Hour, time.Hour} {
		r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
		src := movieClip(1, uint32(2*time.Hour/time.Millisecond))
		n := len(src.batches)
		last := src.batches[n-1][0].Time
		src.batches = append(src.batches, movieClip(1, last+20+uint32(jump.Milliseconds())).batches...)
		began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
		clock := began
		r.now = func() time.Time { return clock }
		src.before = func(i int) {
			if i >= len(src.batches) {
				return
			}
			at := src.batches[i][0].Time - src.batches[0][0].Time
			if i >= n {
				at -= uint32(jump.Milliseconds())
			}
			clock = began.Add(time.Duration(at) * time.Millisecond)
		}
		if err := r.Record(context.Background(), "live/s", src); err != nil {
			t.Fatal(err)
		}
		files := recFiles(t, dir)
		if len(files) != 2 {
			t.Fatalf("files %q", files)
		}
		for i, name := range files {
			_, x := movieRead(t, name)
			for _, f := range x.Fragments {
				if apart := f.Wall.Sub(x.Begin()) - (f.Start - x.Fragments[0].Start); apart.Abs() > 100*time.Millisecond {
					t.Errorf("a jump of %v: a fragment of file %d is %v from when it was", jump, i, apart)
				}
			}
		}
	}
}
