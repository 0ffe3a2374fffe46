package aio_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// misuseIn is the driver for which a child of this test releases what it has transferred.
const misuseIn = "SLUICE_TEST_MISUSE"

// A caller's bug that shows only when a queued write goes out ends the program with a panic
// that says what it was, and not with what the panic breaks on its way.
func TestABugThatShowsInWaitIOIsNamed(t *testing.T) {
	if driver := os.Getenv(misuseIn); driver != "" {
		releaseWhatWaits(t, driver)
		return
	}
	for _, d := range drivers {
		t.Run(d.driver.String(), func(t *testing.T) {
			requireDriver(t, d.driver)
			ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
			defer cancel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			child := exec.CommandContext(ctx, self, "-test.run=^TestABugThatShowsInWaitIOIsNamed$")
			child.Env = append(os.Environ(), misuseIn+"="+d.driver.String())
			out, err := child.CombinedOutput()
			const want = "panic: aio: a Memory was released after WriteMemory"
			if err == nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "fatal error") {
				t.Errorf("it ends with %v, want %q:\n%s", err, want, out)
			}
		})
	}
}

// releaseWhatWaits queues a Memory behind a write that the peer does not take, releases it,
// and lets the peer read.
func releaseWhatWaits(t *testing.T, driver string) {
	var o aio.Options
	for _, d := range drivers {
		if d.driver.String() == driver {
			o.Driver = d.driver
		}
	}
	w, err := aio.NewWatcherOptions(o)
	if err != nil {
		t.Fatal(err)
	}
	near, far := tcpPair(t)
	if err := w.Write(nil, near, make([]byte, 16<<20)); err != nil {
		t.Fatal(err)
	}
	m := mem.NewMemory(mem.Default().Get(1000))
	if err := w.WriteMemory(nil, near, m, time.Time{}); err != nil {
		t.Fatal(err)
	}
	m.Release()
	go func() {
		for p := make([]byte, 64<<10); ; {
			if _, err := far.Read(p); err != nil {
				return
			}
		}
	}()
	for {
		if _, err := w.WaitIO(); err != nil {
			t.Fatal(err)
		}
	}
}

// A nil context and a nil function are found in the call that has them, and named.
func TestNilArgumentsAreNamed(t *testing.T) {
	panics := func(want string, call func()) {
		t.Helper()
		defer func() {
			t.Helper()
			if got := recover(); got != want {
				t.Errorf("%v, want %q", got, want)
			}
		}()
		call()
	}
	var none context.Context
	w, err := aio.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	panics("aio: Watcher.Shutdown: nil context", func() { _ = w.Shutdown(none) })
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	h := &aio.ConnHandler[int]{
		Open: func(c *aio.Conn[int]) error {
			panics("aio: Conn.Do(nil)", func() { _ = c.Do(nil) })
			panics("aio: Conn.WhenSent(nil)", func() { _ = c.WhenSent(nil) })
			stop()
			return nil
		},
		Data: func(*aio.Conn[int], []byte) error { return nil },
	}
	panics("aio: Serve: nil context", func() { _ = aio.Serve(none, []net.Listener{l}, aio.Options{}, h) })
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := aio.Serve(ctx, []net.Listener{l}, aio.Options{}, h); err != nil {
		t.Error(err)
	}
}
