package aio_test

import (
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/aio"
)

// The runtime's monitor thread sleeps when nothing runs, and a loop whose system calls
// the scheduler does not see leaves it asleep: a goroutine that keeps the only processor
// is not preempted then.
func TestOtherGoroutinesRunBesideALoop(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes int // of the distant peer, before
	}{
		{"a long step after a quiet time", 5},
		{"a long step soon after a short one", 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			w, err := aio.NewWatcher()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			distant := distantPeer(t)
			for come := 0; come < c.bytes; {
				if err := w.Read(nil, distant, nil); err != nil {
					t.Fatal(err)
				}
				results, err := w.WaitIO()
				if err != nil || len(results) != 1 || results[0].Error != nil {
					t.Fatal(results, err)
				}
				come += results[0].Size
			}
			var ran atomic.Bool
			go ran.Store(true)
			for began := time.Now(); !ran.Load() && time.Since(began) < notPreempted; {
			}
			if !ran.Load() {
				t.Error("a goroutine that could run did not")
			}
		})
	}
}

// notPreempted is when a goroutine that keeps the processor gives up.
const notPreempted = 20 * time.Second

// distantPeer returns a connection on which another process sends a byte, another a
// little later, and so on after a quiet time.
func distantPeer(t *testing.T) net.Conn {
	t.Helper()
	mine, its := socketPair(t)
	peer := exec.Command("sh", "-c", "while sleep 0.05 && echo && sleep 0.003 && echo; do :; done")
	peer.Stdout = its
	if err := peer.Start(); err != nil {
		t.Fatal(err)
	}
	its.Close()
	t.Cleanup(func() {
		_ = peer.Process.Kill()
		_ = peer.Wait()
	})
	return netConn(t, mine)
}

func socketPair(t *testing.T) (a, b *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b")
}

// netConn turns f, transferred, into a connection.
func netConn(t *testing.T, f *os.File) net.Conn {
	t.Helper()
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
