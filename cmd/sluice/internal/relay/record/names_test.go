package record

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/pattern"
)

// hostileNames are stream names that try to escape from the directory.
var hostileNames = []string{
	"../../etc/passwd", "/etc/passwd", "a/../../b", "..", ".", "", "/", "//", "a//b", "a/./b", "a/.hidden",
	`a\..\b`, `C:\x`, "C:x", "a\x00b", "a\nb", "\xff\xfe/\xff", "a/" + strings.Repeat("x", 5000),
	strings.Repeat("a/", 500) + "b", "a/" + strings.Repeat("é", 300), "con/nul", "live/s?token=x", "a/b:stream", "日本/語",
}

func TestNamesStayInside(t *testing.T) {
	for _, name := range hostileNames {
		got := base(name)
		if got == "" || path.IsAbs(got) || path.Clean(got) != got || strings.Contains(got, "..") && !strings.Contains(name, "a..") && hasDotPart(got) {
			t.Errorf("base(%.40q) = %.60q", name, got)
		}
		parts := strings.Split(got, "/")
		if len(parts) > maxParts-1+maxPieces {
			t.Errorf("base(%.40q) has %d parts", name, len(parts))
		}
		for _, part := range parts {
			if part == "" || part[0] == '.' || len(part) > maxPart || strings.ContainsAny(part, "\\:\x00\n?*<>|\"") {
				t.Errorf("base(%.40q) has the part %.60q", name, part)
			}
		}
	}
	for name, want := range map[string]string{"live/s": "live/s", "live/s_1-x.y": "live/s_1-x.y", "日本/語": "日本/語", "a b/c:d": "a=20b/c=3Ad", "live/a+b": "live/a=2Bb", "a=b": "a=3Db"} {
		if got := base(name); got != want {
			t.Errorf("base(%q) = %q, want %q", name, got, want)
		}
	}
}

func hasDotPart(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

func TestStreamIsFoundAgainByItsFile(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	names := []string{
		"live/s", "live/a+b", "live/a_b", "live/a=b", "live/a=3Db", "日本/語", "a/b/c/d/e/f/g/h/i/j", "live/s-20260102-030405", "live/s-20260102-030405-2",
		"live/x.mp4", "live/" + strings.Repeat("y", 170), "(a)/~b@c!",
		// The longest that a stream may have, which differ at their end only.
		"live/" + strings.Repeat("y", pattern.MaxName-5), "live/" + strings.Repeat("y", pattern.MaxName-6) + "z",
		"live/" + strings.Repeat("(", pattern.MaxName-5), "live/" + strings.Repeat("(", pattern.MaxName-6) + ")",
		"live/" + strings.Repeat("y", 178) + ".y", "live/" + strings.Repeat("y", 178) + "/y", "live/" + strings.Repeat("y", 178) + "=/y",
		strings.Repeat("🙂", 40) + "/" + strings.Repeat("語", 13), strings.Repeat("ที่", 20) + "/a",
	}
	seen := map[string]string{}
	for _, name := range names {
		for _, number := range []string{"", "-2", "-1001"} {
			file := base(name) + "-" + at.Format(stamp) + number + ".mp4"
			if other, ok := seen[file]; ok {
				t.Errorf("%q and %q have the file %s", name, other, file)
			}
			seen[file] = name
			if stream, began, ok := StreamOf(file); stream != name || !began.Equal(at) || !ok {
				t.Errorf("%s is a file of %q, %v, %v, not of %q", file, stream, began, ok, name)
			}
		}
	}
	for _, file := range []string{
		"", "live/s.mp4", "live/s-20260102-030405.mkv", "live/s-20261302-030405.mp4", "live/=4-20260102-030405.mp4", "live/=zz-20260102-030405.flv",
		"../s-20260102-030405.mp4", "live/.s-20260102-030405.mp4", "live/=73-20260102-030405.mp4", "live/s==-20260102-030405.mp4", "/s-20260102-030405.mp4",
		base("live/"+strings.Repeat("x", 1000)) + "-20260102-030405.mp4", base(strings.Repeat("x", 1000)+"/s") + "-20260102-030405.mp4",
		"live/" + strings.Repeat("y", 177) + "==/y-20260102-030405.mp4", "live/" + strings.Repeat("y", 178) + "==/.y-20260102-030405.mp4",
	} {
		if stream, _, ok := StreamOf(file); ok {
			t.Errorf("%q is a file of %q", file, stream)
		}
	}
}

// A file's name says when it began also in the hour that comes twice when summer time ends.
func TestNamesOfAnHourThatComesTwice(t *testing.T) {
	for place, begin := range map[string]time.Time{
		"Europe/Berlin":       time.Date(2026, 10, 24, 23, 0, 0, 0, time.UTC), // Go reads such times as the second one here,
		"America/New_York":    time.Date(2026, 11, 1, 4, 0, 0, 0, time.UTC),   // and as the first one here
		"Australia/Lord_Howe": time.Date(2026, 4, 4, 14, 0, 0, 0, time.UTC),   // half an hour
	} {
		local, err := time.LoadLocation(place)
		if err != nil {
			t.Fatal(err)
		}
		seen, utc := map[string]bool{}, 0
		for at := begin; at.Before(begin.Add(4 * time.Hour)); at = at.Add(10*time.Minute + time.Millisecond) {
			name := stampOf(at, local)
			if read, err := readStamp(name, local); err != nil || !read.Equal(at.Truncate(time.Second)) {
				t.Errorf("%s: %v is read from %s of %v: %v", place, read, name, at, err)
			}
			if seen[name] {
				t.Errorf("%s: %s twice", place, name)
			}
			seen[name] = true
			if strings.HasSuffix(name, "Z") {
				utc++
			}
		}
		if utc == 0 || utc > 7 {
			t.Errorf("%s: %d names are in UTC", place, utc)
		}
	}
	at := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC)
	if stream, began, ok := StreamOf("live/s-20261025-003000Z-2.mp4"); stream != "live/s" || !began.Equal(at) || !ok {
		t.Errorf("%q %v %v", stream, began, ok)
	}
}

// recOne is a source of one file.
func recOne() *recSource {
	return &recSource{batches: [][]recTag{{recVideo(0, recConfig), recVideo(0, recKey)}}}
}

func TestHostileNamesMakeFilesInside(t *testing.T) {
	r, dir := recNew(t, nil)
	for i, name := range hostileNames {
		if err := r.Record(context.Background(), name, recOne()); err != nil {
			t.Errorf("%.40q: %v", name, err)
		}
		if got := len(recFiles(t, dir)); got != i+1 {
			t.Fatalf("after %.40q there are %d files, want %d", name, got, i+1)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Errorf("beside the directory: %v, %v", entries, err)
	}
}

func TestLinksDoNotLeadOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("making a symbolic link there takes a privilege")
	}
	r, dir := recNew(t, nil)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "live")); err != nil {
		t.Fatal(err)
	}
	if err := r.Record(context.Background(), "live/s", recOne()); err == nil {
		t.Error("a recording followed a link out of its directory")
	}
	if files := recFiles(t, outside); len(files) != 0 {
		t.Errorf("files outside: %q", files)
	}
	if got := r.Stats().Failed; got != 1 {
		t.Errorf("%d failed, want 1", got)
	}
}

func TestFilesAreNeverOverwritten(t *testing.T) {
	r, dir := recNew(t, nil)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	r.now = func() time.Time { return now }
	first := filepath.Join(dir, "live", "s-20260102-030405.flv")
	if err := os.MkdirAll(filepath.Dir(first), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(first, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	// A link with the next name, to nowhere, is there as well.
	if err := os.Symlink("nowhere", filepath.Join(dir, "live", "s-20260102-030405-2.flv")); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Record(context.Background(), "live/s", recOne()); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(first); err != nil || string(got) != "mine" {
		t.Errorf("the file that was there: %q, %v", got, err)
	}
	for _, name := range []string{"s-20260102-030405-3.flv", "s-20260102-030405-4.flv"} {
		if _, tags := recReadFile(t, filepath.Join(dir, "live", name)); len(tags) != 2 {
			t.Errorf("%s has %d tags", name, len(tags))
		}
	}
}

func TestDirectoryThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), ""} {
		if r, err := New(Options{Dir: dir}); err == nil {
			r.Close()
			t.Errorf("New in %q works", dir)
		}
	}
}
