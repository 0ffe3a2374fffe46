package record

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A directory that is deleted or moved away while the server runs gets no more files: those that
// begin later are where the setting says.
func TestDirectoryThatIsAnotherOneByNow(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open directory can be neither deleted nor moved there")
	}
	r, dir := recNew(t, nil)
	record := func(want int) {
		t.Helper()
		if err := r.Record(context.Background(), "live/s", recOne()); err != nil {
			t.Fatal(err)
		}
		if files := recFiles(t, dir); len(files) != want {
			t.Errorf("files %q, want %d", files, want)
		}
	}
	record(1)
	record(2)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	record(1)
	away := dir + "-away"
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	record(1)
	if files, err := filepath.Glob(filepath.Join(away, "*", "*")); err != nil || len(files) != 1 {
		t.Errorf("files %q in the directory that was moved, %v", files, err)
	}
}

// That nothing can be recorded is known before the first stream is there to be.
func TestDirectoryThatMayNotBeWritten(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what refuses also root its files differs")
	}
	dir := "/sys"
	if os.Getuid() != 0 {
		dir = t.TempDir()
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := New(Options{Dir: dir}); err == nil {
		r.Close()
		t.Error("no error")
	}
	_, dir = recNew(t, nil)
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("%v is left of the question, %v", list, err)
	}
}
