package testdisk

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Dir is a directory in memory where there is room for it, removed at the end: for tests
// of what logs do, not of how long a disk takes to sync.
func Dir(t testing.TB) string {
	const memory, room = "/dev/shm", 1 << 30
	var fs unix.Statfs_t
	if err := unix.Statfs(memory, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "sluice-sink-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
