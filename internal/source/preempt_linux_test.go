package source_test

import (
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The runtime's monitor thread sleeps when nothing runs, and reads that the scheduler does not
// see leave it asleep: a goroutine that keeps the only processor is not preempted then.

func TestOthersRunBesideAGoroutineThatWorksOnWhatItHasRead(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes int // of the distant peer, before the work
	}{
		{"after a quiet time", 4},
		{"soon after another read", 5},
		{"soon after two", 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			s, m := rawOf(t, distantPeer(t)), &memory{room: make([]byte, 1)}
			for range c.bytes {
				if _, _, err := s.Read(m.room, m); err != nil {
					t.Fatal(err)
				}
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
const notPreempted = 10 * time.Second

// distantPeer returns a connection on which another process sends three bytes, less than a
// millisecond apart, and three more after a quiet time, and so on.
func distantPeer(t *testing.T) net.Conn {
	t.Helper()
	mine, its := socketPair(t)
	peer := exec.Command("sh", "-c", `
pause() { i=0; while [ $i -lt 300 ]; do i=$((i+1)); done; }
while sleep 0.05 && echo && pause && echo && pause && echo; do :; done`)
	peer.Stdout = its
	if err := peer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = peer.Process.Kill()
		_ = peer.Wait()
	})
	_ = its.Close()
	return connOf(t, mine)
}

func TestOthersRunBesideAGoroutineThatAlwaysFindsBytes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	a, b := socketPair(t)
	near, far := connOf(t, a), connOf(t, b).(*net.UnixConn)
	if err := far.SetWriteBuffer(8 << 20); err != nil {
		t.Fatal(err)
	}
	sent, room := 0, make([]byte, 64<<10)
	for {
		// The kernel's answer when the socket is full comes at once.
		if err := far.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		n, err := far.Write(room)
		sent += n
		if err != nil {
			break
		}
	}
	s, m := rawOf(t, briefUnix{near.(*net.UnixConn)}), &memory{room: room}
	untilTheMonitorSleeps(t)
	var other atomic.Bool
	began := time.Now()
	go other.Store(true)
	n := 0
	for n < sent && !other.Load() {
		if _, _, err := s.Read(room[:1], m); err != nil {
			t.Fatal(err)
		}
		n++
	}
	took := time.Since(began)
	t.Logf("another goroutine ran after %v and %d reads of %d", took, n, sent)
	if !other.Load() {
		t.Errorf("no other goroutine has run for %v and %d reads", took, n)
	}
}

// briefUnix is brief over a Unix socket.
type briefUnix struct{ *net.UnixConn }

func (c briefUnix) RawRead() syscall.Conn { return c }

func (c briefUnix) SyscallConn() (syscall.RawConn, error) {
	raw, err := c.UnixConn.SyscallConn()
	return briefDescriptor{raw}, err
}

// untilTheMonitorSleeps waits until the monitor thread sleeps, as a rule, and does not wake it
// at the end: what ends the wait is neither a timer of the runtime nor followed by a system
// call that the scheduler is notified of.
func untilTheMonitorSleeps(t *testing.T) {
	t.Helper()
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "timerfd")
	t.Cleanup(func() { _ = f.Close() })
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(100 * time.Millisecond))}, nil); err != nil {
		t.Fatal(err)
	}
	asked := false
	if err := raw.Read(func(uintptr) bool {
		was := asked
		asked = true
		return was
	}); err != nil {
		t.Fatal(err)
	}
}

func socketPair(t *testing.T) (a, b *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b")
}

// connOf turns f, transferred, into a connection.
func connOf(t *testing.T, f *os.File) net.Conn {
	t.Helper()
	defer func() { _ = f.Close() }()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
