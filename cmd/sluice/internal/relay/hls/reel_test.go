package hls

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hlstest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// clips gives a recorder the clip of 10 s again and again.
type clips struct{ left, done int }

func (s *clips) Next(context.Context) (out []byte, skipped int, err error) {
	if s.done == s.left {
		return nil, 0, io.EOF
	}
	for t := range au.Tags(flvclip.File) {
		out = flv.TagHeader{Type: t.Type, Size: len(t.Body), Time: t.Time + uint32(s.done)*10_000}.Append(out)
		n := flv.TagHeaderLen + len(t.Body)
		out = append(append(out, t.Body...), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	s.done++
	return out, 0, nil
}

// recordedClips returns a recording of some clips, and where its fragments are.
func recordedClips(t *testing.T, n int) (file []byte, x *mp4.Index) {
	t.Helper()
	dir := t.TempDir()
	r, err := record.New(record.Options{Dir: dir, Format: record.MP4, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Record(context.Background(), "live/s", &clips{left: n}); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "live", "*.mp4"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%q, %v", names, err)
	}
	if file, err = os.ReadFile(names[0]); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(names[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if x, err = mp4.Scan(f, int64(len(file))); err != nil {
		t.Fatal(err)
	}
	return file, x
}

// growing is a server with files that are written by a test.
type growing struct {
	*Server
	dir     string
	writing map[string]bool
}

func newGrowing(t *testing.T) *growing {
	t.Helper()
	g := &growing{dir: t.TempDir(), writing: map[string]bool{}}
	root, err := os.OpenRoot(g.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	g.Server = pastServer(archive.New(func() *os.Root { return root }, func(file string) bool { return g.writing[file] }))
	if err := os.Mkdir(filepath.Join(g.dir, "live"), 0o755); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *growing) write(t *testing.T, file string, p []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, filepath.FromSlash(file)), p, 0o644); err != nil {
		t.Fatal(err)
	}
}

// extend has a viewer look for more at once.
func (g *growing) extend(p *past, live bool) {
	p.looked = time.Time{}
	for r := p.first; r != nil; r = r.next {
		r.looked, r.asked = time.Time{}, time.Time{}
	}
	p.extend(live)
}

// Viewers who begin anywhere in a file that grows, and in the one after it, have playlists that
// only grow, without a gap, whichever others are there beside them.
func TestPastsOfAFileThatGrows(t *testing.T) {
	file, x := recordedClips(t, 6)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const one, two = "live/s-20260102-030405.mp4", "live/s-20260102-030505.mp4"
	g := newGrowing(t)
	g.writing[one] = true
	type viewer struct {
		*past
		before *hlstest.Playlist
	}
	var viewers []*viewer
	look := func(live bool) {
		for _, v := range viewers {
			if random.IntN(2) == 0 && live {
				continue
			}
			g.extend(v.past, live)
			if v.playlist() == nil {
				continue
			}
			now := parsedPast(t, v.past)
			if v.before != nil {
				if err := now.Follows(v.before); err != nil {
					t.Fatalf("from %v: %v", v.start.Start, err)
				}
			}
			v.before = now
		}
	}
	for i, f := range x.Fragments {
		g.write(t, one, file[:f.At+f.Size-int64(random.IntN(2))])
		if f.Key {
			from := x.Fragments[random.IntN(i+1)]
			for !from.Key {
				from = x.Fragments[random.IntN(i+1)]
			}
			viewers = append(viewers, &viewer{past: g.newPast("live/s", from.Wall, one, x.Header, from)})
		}
		look(true)
	}
	g.write(t, one, file)
	g.writing[one] = false
	look(true)
	later := slices.Clone(file) // recorded at once, so by its dates as early as the first
	for _, f := range x.Fragments {
		seconds := later[f.At+16:] // of the NTP time in prft (ISO/IEC 14496-12, 8.16.5)
		binary.BigEndian.PutUint32(seconds, binary.BigEndian.Uint32(seconds)+60)
	}
	g.write(t, two, later)
	look(true)
	look(false)
	if len(viewers) < 10 || len(g.shelves) != 1 || len(g.shelves["live/s"].reels) != 2 {
		t.Fatalf("%d viewers", len(viewers))
	}
	for _, v := range viewers {
		parts, over := v.parts()
		if !over || !v.before.End {
			t.Errorf("from %v: no end", v.start.Start)
		}
		at, n := v.start.At, 0
		for _, part := range parts {
			if part.reel.file == two && part.list[0].at < at {
				if at != int64(len(file)) && at != x.End {
					t.Errorf("from %v: the first file ends at %d of %d", v.start.Start, at, x.End)
				}
				at = x.Fragments[0].At
			}
			for _, s := range part.list {
				if s.at != at || s.duration > mostPast {
					t.Fatalf("from %v: segment %d begins at %d, not %d, and has %v", v.start.Start, n, s.at, at, s.duration)
				}
				if n == 0 && s.duration > 2*firstPast && at != x.Fragments[len(x.Fragments)-1].At {
					t.Errorf("from %v: the first has %v", v.start.Start, s.duration)
				}
				at, n = s.at+s.size, n+1
			}
		}
		if at != x.End || parts[len(parts)-1].reel.file != two {
			t.Errorf("from %v: it ends at %d of %d", v.start.Start, at, x.End)
		}
		v.close()
		v.close()
	}
	if len(g.shelves) != 0 {
		t.Error("a shelf stays without viewers")
	}
}

// Thousands of viewers of one address take no memory for each segment, nor a file each.
func TestManyPastsShareWhatTheyList(t *testing.T) {
	file, x := recordedClips(t, 60)
	g := newGrowing(t)
	for hour := range 8 {
		g.write(t, fmt.Sprintf("live/s-20260102-%02d0405.mp4", hour), file)
	}
	const many = 300
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(list)
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	files, before := open(), heap()
	var all []*past
	for i := range many {
		from := x.Fragments[i%200]
		for !from.Key {
			i++
			from = x.Fragments[i%200]
		}
		p := g.newPast("live/s", from.Wall, "live/s-20260102-000405.mp4", x.Header, from)
		p.extend(false)
		parts, _ := p.parts()
		n := 0
		for _, part := range parts {
			n += len(part.list)
		}
		if n < 400 {
			t.Fatalf("%d segments", n)
		}
		last := parts[len(parts)-1]
		if _, f, err := p.media(last.reel, last.list[0]); err != nil {
			t.Fatal(err)
		} else if f != nil {
			f.Close()
		}
		all = append(all, p)
	}
	if n := open() - files; n > 2 {
		t.Errorf("%d files are open", n)
	}
	if each := (heap() - before) / many; each > 8<<10 {
		t.Errorf("%d bytes for each viewer", each)
	}
	for _, p := range all {
		p.close()
	}
	if n := open() - files; n > 0 || g.files.Load() != 0 {
		t.Errorf("%d files stay open", n)
	}
	runtime.KeepAlive(all)
}
