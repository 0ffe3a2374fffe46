//go:build unix

package cli

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// TestManyReloadsDoNotCostTheEnd has signals of one kind come, of which none is received, as while
// the configuration is read, and then two that end the server.
func TestManyReloadsDoNotCostTheEnd(t *testing.T) {
	s, stop := receiveSignals()
	defer stop()
	send := func(sig syscall.Signal, to chan os.Signal, want int) {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		for late := time.Now().Add(serveWait); len(to) < want; {
			if time.Now().After(late) {
				t.Fatalf("%v has not come", sig)
			}
		}
	}
	for range 20 {
		send(syscall.SIGHUP, s.reload, 1)
	}
	send(syscall.SIGTERM, s.end, 1)
	send(syscall.SIGTERM, s.end, 2)
}
