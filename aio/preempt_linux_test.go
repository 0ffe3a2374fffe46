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
		busy  func(t *testing.T, w *aio.Watcher, ran *atomic.Bool)
	}{
		{"a long step after a quiet time", 5, longStep},
		{"a long step soon after a short one", 6, longStep},
		{"a loop that never sleeps", 6, loopWithoutSleep},
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
			c.busy(t, w, &ran)
			if !ran.Load() {
				t.Error("a goroutine that could run did not")
			}
		})
	}
}

// notPreempted is when a goroutine that keeps the processor gives up.
const notPreempted = 20 * time.Second

func longStep(_ *testing.T, _ *aio.Watcher, ran *atomic.Bool) {
	for began := time.Now(); !ran.Load() && time.Since(began) < notPreempted; {
	}
}

// loopWithoutSleep passes a byte between two connections of one watcher.
func loopWithoutSleep(t *testing.T, w *aio.Watcher, ran *atomic.Bool) {
	a, b := socketPair(t)
	for _, c := range []net.Conn{netConn(t, a), netConn(t, b)} {
		if err := w.Read(nil, c, make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(nil, c, []byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	for began := time.Now(); !ran.Load() && time.Since(began) < notPreempted; {
		results, err := w.WaitIO()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Operation == aio.OpRead {
				_ = w.Write(nil, r.Conn, []byte{1})
				_ = w.Read(nil, r.Conn, r.Buffer[:8])
			}
		}
	}
}

// distantPeer returns a connection on which another process sends a byte, another a
// little later, and so on after a quiet time.
func distantPeer(t *testing.T) net.Conn {
	t.Helper()
	mine, its := socketPair(t)
	peer := exec.Command("sh", "-c", "while sleep 0.05 && echo && sleep 0.003 && echo; do :; done")
	peer.Stdout = its
	if err := peer.Start(); err != nil {
		t.Skip(err)
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
