//go:build linux

package aio_test

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// openFiles is how many descriptors this process has.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries) - 1 // that of the directory
}

// exhaust has no descriptor left but so many, until release.
func exhaust(t *testing.T, but int) (release func()) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	var held []int
	release = sync.OnceFunc(func() {
		for _, fd := range held {
			_ = syscall.Close(fd)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(release)
	low := limit
	low.Cur = uint64(openFiles(t) + 32)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	for {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err == syscall.EMFILE {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, fd)
	}
	for range but {
		_ = syscall.Close(held[len(held)-1])
		held = held[:len(held)-1]
	}
	return release
}

func TestDelegationWithoutDescriptorsLeavesTheConnectionAlone(t *testing.T) {
	d := driversHere(t)[0]
	if d == aio.Std {
		t.Skip("Std needs no descriptor of its own")
	}
	for _, network := range socketKinds() {
		t.Run(network, func(t *testing.T) {
			alloc := mem.New(mem.Options{Name: "exhausted"})
			sluicetest.NoLeaks(t, alloc)
			w := startFaultEcho(t, d)
			server, client := newPairMaker(t, network).mustPair(t)
			defer server.Close()
			release := exhaust(t, 0)
			open := openFilesBare()
			errs := []error{
				w.Read(nil, server, make([]byte, 10)),
				w.Read(nil, server, nil),
				w.Write(nil, server, []byte("never")),
				w.WriteBuf(nil, server, alloc.Get(100), time.Time{}),
				w.WriteMemory(nil, server, mem.NewMemory(alloc.Get(100), alloc.Get(5)), time.Time{}),
			}
			left := openFilesBare()
			release()
			for i, err := range errs {
				if !errors.Is(err, syscall.EMFILE) {
					t.Errorf("submission %d without descriptors: %v, want EMFILE", i, err)
				}
			}
			if left > open {
				t.Errorf("%d descriptors after the refusals, %d before", left, open)
			}
			if s := w.Stats(); s.Conns != 0 || s.Pending != 0 {
				t.Errorf("%d connections and %d operations after the refusals", s.Conns, s.Pending)
			}
			// The connection is still the program's.
			if err := server.SetDeadline(time.Now().Add(longEnough)); err != nil {
				t.Fatal(err)
			}
			p := make([]byte, 5)
			for from, to := server, client; ; from, to = client, server {
				if _, err := from.Write([]byte("hello")); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(to, p); err != nil || string(p) != "hello" {
					t.Fatalf("%q, %v", p, err)
				}
				if from == client {
					break
				}
			}
			// And can be taken over later.
			if err := w.Read(nil, server, make([]byte, 4<<10)); err != nil {
				t.Fatal(err)
			}
			if err := echoStream(client, 1, 20); err != nil {
				t.Error(err)
			}
		})
	}
}

// openFilesBare is how many descriptors are open, for when there are none left to
// look into /proc with.
func openFilesBare() int {
	n := 0
	for fd := range 4096 {
		if _, _, e := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0); e == 0 {
			n++
		}
	}
	return n
}

func TestAWatcherWithoutDescriptorsSaysSoAndLeavesNone(t *testing.T) {
	d := driversHere(t)[0]
	if d == aio.Std {
		t.Skip("Std needs no descriptor of its own")
	}
	// What earlier tests forgot is closed now, and not while descriptors are counted.
	runtime.GC()
	// Auto does not fall back to Std for it: goroutines need descriptors too.
	for _, asked := range []aio.Driver{d, aio.Auto} {
		refusals := 0
		for but := range 8 {
			release := exhaust(t, but)
			open := openFilesBare()
			w, err := aio.NewWatcherOptions(aio.Options{Driver: asked})
			if err == nil {
				_ = w.Close()
			}
			left := openFilesBare()
			release()
			switch {
			case err == nil:
			case !errors.Is(err, syscall.EMFILE) || w != nil:
				t.Errorf("%v with %d descriptors: %v, want EMFILE and no watcher", asked, but, err)
			default:
				refusals++
			}
			if left > open {
				t.Errorf("%v with %d descriptors, which gave %v: %d open afterwards, %d before", asked, but, err, left, open)
			}
		}
		if refusals == 0 || refusals == 8 {
			t.Errorf("%v was refused %d times of 8", asked, refusals)
		}
	}
}
