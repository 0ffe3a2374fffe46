package consensus

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// scratch is a directory in memory where there is room for it: what these tests
// are about is what raft and the logs do, and many nodes that sync at once make
// a disk so slow that leaders are given up.
func scratch(t testing.TB) string {
	const memory, room = "/dev/shm", 1 << 30
	var fs unix.Statfs_t
	if err := unix.Statfs(memory, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "sluice-consensus-")
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
