package wal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A disk that is really full: a small tmpfs, which takes the right to mount one.
func TestADiskThatIsReallyFull(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	dir, other := filepath.Join(disk, "log"), filepath.Join(disk, "other")
	if err := os.WriteFile(other, make([]byte, 512<<10), 0o644); err != nil {
		t.Fatal(err)
	}
	o := Options{SegmentBytes: 100_000}
	l := mustOpen(t, dir, o)
	payload := make([]byte, 10_000)
	acked := uint64(0)
	var err error
	for range 100 {
		var first uint64
		if first, err = l.AppendBatch([][]byte{payload}); err != nil {
			break
		}
		if err = l.Sync(); err != nil {
			break
		}
		acked = first
	}
	if !errors.Is(err, unix.ENOSPC) || !errors.Is(err, ErrFailed) || acked < 10 {
		t.Fatalf("after %d records: %v", acked, err)
	}
	t.Log(err)
	l.Close()
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	l, r, err := Open(dir, o)
	if err != nil || r.Last < acked || r.Last > acked+1 {
		t.Fatalf("%d were acknowledged, recovered %+v, %v", acked, r, err)
	}
	t.Logf("%+v", r)
	for range 10 {
		if _, err := l.AppendBatch([][]byte{payload}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
