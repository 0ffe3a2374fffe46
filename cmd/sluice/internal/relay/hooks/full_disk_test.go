package hooks

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A disk that is full at the first start keeps no server away: events are counted until there is room,
// and the receiver gets to know how many were lost.
func TestFirstStartOnAFullDisk(t *testing.T) {
	r := newReceiver(t)
	r.listen()
	dir := filepath.Join(t.TempDir(), "events")
	var room atomic.Bool
	sp, err := newSpool(func() (string, *os.File, error) {
		if !room.Load() {
			return "", nil, fmt.Errorf("%w: %w", ErrSpool, syscall.ENOSPC)
		}
		return openDirectory(dir, lockFile)
	})
	if !errors.Is(err, syscall.ENOSPC) || sp == nil {
		t.Fatalf("%v, %v", sp, err)
	}
	e := newEvents(EventOptions{URL: r.url(), Dir: dir, Most: DefaultSpool, Timeout: time.Minute, Retry: time.Millisecond, RetryMost: time.Millisecond}, sp, slog.New(slog.DiscardHandler))
	numbered(e, 0, 10)
	eventually(t, "ten are lost", func() bool { return testutil.ToFloat64(e.metrics.lost) == 10 })
	room.Store(true)
	numbered(e, 10, 11)
	eventually(t, "what comes later", func() bool { return r.count() == 2 })
	got := r.events()
	if got[0].Event != Lost || got[0].Count != 10 || got[1].Stream != "live/10" {
		t.Errorf("%+v", got)
	}
	ended(t, e)
	if e, err := NewEvents(EventOptions{URL: r.url(), Dir: filepath.Join(dir, "lock", "x")}); err == nil || !errors.Is(err, ErrSpool) {
		t.Errorf("a directory that cannot be: %v, %v", e, err)
	}
}

// A server that ends before its disk has room has nothing to close.
func TestEndOnAFullDisk(t *testing.T) {
	r := newReceiver(t)
	sp, _ := newSpool(func() (string, *os.File, error) { return "", nil, syscall.ENOSPC })
	e := newEvents(EventOptions{URL: r.url(), Most: DefaultSpool, Retry: time.Millisecond, RetryMost: time.Millisecond}, sp, slog.New(slog.DiscardHandler))
	numbered(e, 0, 10)
	ended(t, e)
	if n := testutil.ToFloat64(e.metrics.lost); n != 10 {
		t.Errorf("%v are counted", n)
	}
}

// A disk that has room for a directory and for no file, as one without inodes or of a small quota, is tried with each
// event: no directory of a try stays.
func TestNoDirectoriesAreLeftOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP"} { // the second one is Windows'
		t.Setenv(name, dir)
	}
	sp, err := newSpool(func() (string, *os.File, error) {
		return openDirectory("", func(name string) (*os.File, error) {
			return nil, &os.PathError{Op: "open", Path: name, Err: syscall.ENOSPC}
		})
	})
	if !full(err) || sp == nil {
		t.Fatalf("%v, %v", sp, err)
	}
	for range 3 {
		if err := sp.append([]byte("{}\n"), 1); !full(err) {
			t.Errorf("an event: %v", err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}
