package poller_test

import (
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/aio/internal/poller"
)

// locked reports whether the calling goroutine is locked to its thread.
func locked() bool {
	b := make([]byte, 1<<10)
	head, _, _ := strings.Cut(string(b[:runtime.Stack(b, false)]), "\n")
	return strings.Contains(head, "locked to thread")
}

// Locks of a thread are counted: a second processor must not leave one behind.
func TestUnpinUnlocksAfterTwoProcessors(t *testing.T) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Skip(err)
	}
	var cpus []int
	for cpu := range 1024 {
		if all.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	if len(cpus) < 2 {
		t.Skip("one processor")
	}
	ended := make(chan struct{})
	go func() { // which ends with its thread if it is locked
		defer close(ended)
		var a poller.Affinity
		for _, cpu := range cpus[:2] {
			if err := a.Want(cpu); err != nil {
				t.Error(err)
			}
			a.Pin()
		}
		if !locked() {
			t.Error("Pin does not lock the thread")
		}
		a.Unpin()
		if locked() {
			t.Error("the thread is locked after Unpin")
		}
	}()
	<-ended
}
