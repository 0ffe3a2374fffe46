package aio_test

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// listenDescriptors counts those of this process.
func listenDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries) - 1 // ReadDir's own
}

func TestListenClosesTheOthersWhenOneFails(t *testing.T) {
	free, err := aio.Listen(t.Context(), "tcp", ownAddress(), 2)
	if err != nil {
		t.Fatal(err)
	}
	addr := free[0].Addr().String()
	for _, l := range free {
		l.Close()
	}
	before := listenDescriptors(t)

	// Some listeners can be opened, but not all.
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = uint64(before) + 20
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	listeners, err := aio.Listen(t.Context(), "tcp", addr, 100)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}

	if listeners != nil || !errors.Is(err, syscall.EMFILE) {
		t.Fatalf("%d listeners where descriptors run out, error %v", len(listeners), err)
	}
	// What earlier tests forgot may be closed meanwhile.
	if after := listenDescriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if c, err := net.DialTimeout("tcp", addr, time.Minute); err == nil {
		c.Close()
		t.Error("somebody still listens")
	}
}
