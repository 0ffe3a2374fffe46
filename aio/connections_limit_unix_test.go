//go:build unix

package aio_test

import (
	"syscall"
	"testing"
)

// descriptorLimit raises the limit on descriptors as far as it goes and returns
// it.
func descriptorLimit(t testing.TB) int {
	t.Helper()
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		t.Fatal(err)
	}
	if r.Cur < r.Max {
		raised := r
		raised.Cur = raised.Max
		// Some systems refuse what they call the maximum.
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err == nil {
			r = raised
		}
	}
	return int(min(uint64(r.Cur), 1<<30))
}
