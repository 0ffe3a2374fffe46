//go:build linux

package realtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/internal/loopback"
)

// smallDisk mounts a disk of so many bytes, in memory, which only root may.
func smallDisk(t testing.TB, dir string, bytes int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Skipf("mounting a small disk: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
	})
}

// mustSayFull waits for the end of a sink whose disk is full: 1, and a word of
// why.
func mustSayFull(t *testing.T, s *sink) {
	t.Helper()
	if code := s.wait(t); code != 1 || !strings.Contains(s.stderr.String(), "no space left on device") {
		t.Errorf("a sink with a full disk ended with %d: %s", code, s.stderr.tail())
	}
}

func TestFullDiskOfSync(t *testing.T) {
	t.Parallel()
	disk := filepath.Join(t.TempDir(), "small")
	smallDisk(t, disk, 4<<20)
	dir := filepath.Join(disk, "log")
	s := startSink(t, "sync", loopback.Free(t), dir, "--durability", "sync", "--segment", "1MiB")
	l := new(ledger)
	o := (&load{addrs: []string{s.addr}, conns: 8, depth: 4, size: 60_000, ledger: l}).run(random(t))
	mustSayFull(t, s)
	o.stop()
	if l.len() == 0 {
		t.Error("nothing was acknowledged before the disk was full")
	}
	mustHold(t, l, dir)
}

// A node with a full disk falls out, leader or not, and the others go on. With
// room again it gets what it lacks.
func TestFullDiskOfANode(t *testing.T) {
	t.Parallel()
	disk := filepath.Join(t.TempDir(), "small")
	smallDisk(t, disk, 12<<20)
	c := newCluster(t)
	c.dirs[1] = filepath.Join(disk, "log")
	c.start(0, 1, 2)
	l := new(ledger)
	o := (&load{addrs: c.addrs, conns: 8, depth: 4, size: 200_000, ledger: l}).run(random(t))
	full := c.nodes[1]
	eventually(t, lengthened(60*time.Second), func() string {
		if !full.ended() {
			return fmt.Sprintf("the node runs, with %d records", full.stats(t).Raft.Last)
		}
		return ""
	})
	mustSayFull(t, full)
	c.nodes[1] = nil
	l.await(t, 50)
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT, "size=1073741824"); err != nil {
		t.Fatal(err)
	}
	c.start(1)
	l.await(t, 20)
	o.stop()
	c.mustEndAlike(l)
}
