package relay

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/flvclip"
)

// clipFile is the path of a clip.
func clipFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clip.flv")
	if err := os.WriteFile(path, flvclip.File, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startFloor serves until the test ends.
func startFloor(t *testing.T, form string, window time.Duration) (addr string) {
	t.Helper()
	in, stop := io.Pipe()
	out, says := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Floor{Form: form, Window: window}.Serve(in, says) }()
	t.Cleanup(func() {
		stop.Close()
		if err := <-done; err != nil {
			t.Errorf("the floor: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line[:len(line)-1]
}

// runLoad does a work against a server in this process.
func runLoad(t *testing.T, w Work) (Result, error) {
	t.Helper()
	w.App, w.Stream, w.Server = "live", "test", os.Getpid()
	if w.Clip == "" {
		w.Clip = clipFile(t)
	}
	in, ask := io.Pipe()
	out, says := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := RunLoad(w, in, says)
		says.CloseWithError(err)
		done <- err
	}()
	answers := bufio.NewReader(out)
	var r Result
	_, err := answers.ReadString('\n')
	if err == nil {
		io.WriteString(ask, "go\n")
		err = json.NewDecoder(answers).Decode(&r)
	}
	ask.Close()
	if e := <-done; e != nil {
		err = e
	}
	return r, err
}

// runLoadFor is runLoad with a window in which so many frames are published: of one that the
// machine stood still in none may be.
func runLoadFor(t *testing.T, least int, w Work) (r Result, err error) {
	t.Helper()
	for r, err = runLoad(t, w); err == nil && r.Published < least && w.Window < 30*time.Second; r, err = runLoad(t, w) {
		w.Window *= 4
	}
	return r, err
}

func TestFloorsLoseNothing(t *testing.T) {
	for _, form := range []string{RTMP, FLV} {
		for _, window := range []time.Duration{0, 40 * time.Millisecond} {
			addr := startFloor(t, form, window)
			r, err := runLoadFor(t, 10, Work{Publish: addr, View: addr, Form: form, Viewers: 20, Warm: 50 * time.Millisecond, Window: 500 * time.Millisecond})
			if err != nil {
				t.Fatalf("%s, %v: %v", form, window, err)
			}
			if r.Lost != 0 || r.Closed != 0 || r.Odd != 0 {
				t.Errorf("%s, %v: %d frames lost, %d odd, %d viewers closed", form, window, r.Lost, r.Odd, r.Closed)
			}
			if r.Published < 10 || r.Since < 20*r.Published || r.Delivered > r.Since {
				t.Errorf("%s, %v: of %d frames for 20 viewers %d were delivered in the window, %d in all", form, window, r.Published, r.Delivered, r.Since)
			}
			if r.Window < 500*time.Millisecond || r.CPU <= 0 || r.Resident < 1<<20 || r.PerGB() <= 0 {
				t.Errorf("%s, %v: %+v", form, window, r)
			}
			if r.LagP50 <= 0 || r.LagP99 < r.LagP50 || r.Late < 0 {
				t.Errorf("%s, %v: lag %v, %v", form, window, r.LagP50, r.LagP99)
			}
		}
	}
}

func TestAStreamOfSmallFramesIsCounted(t *testing.T) {
	clip := filepath.Join(t.TempDir(), "small.flv")
	if err := os.WriteFile(clip, SmallFrames(700, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := startFloor(t, RTMP, 0)
	work := Work{Publish: addr, View: addr, Form: RTMP, Clip: clip, Viewers: 1, Warm: 50 * time.Millisecond, Window: 500 * time.Millisecond}
	r, err := runLoadFor(t, 40, work)
	if err != nil || r.Published < 40 || r.Since < r.Published || r.Lost != 0 || r.Odd != 0 || r.CPU <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
	// Without viewers.
	work.Streams, work.Viewers = 3, 0
	if r, err = runLoadFor(t, 120, work); err != nil || r.Published < 120 || r.Delivered != 0 || r.Lost != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAServerThatEndsIsAnError(t *testing.T) {
	for _, after := range []int{0, 1, 1000} {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				io.CopyN(conn, conn, int64(after))
				conn.Close()
			}
		}()
		_, err = runLoad(t, Work{Publish: l.Addr().String(), View: l.Addr().String(), Form: RTMP, Viewers: 1, Window: time.Second})
		if err == nil {
			t.Errorf("a server that ends after %d bytes is measured", after)
		}
		l.Close()
	}
}

func TestAWorkThatCannotBeDoneIsAnError(t *testing.T) {
	addr := startFloor(t, RTMP, 0)
	for name, w := range map[string]Work{
		"nobody listens": {Publish: "127.0.0.1:1", View: addr, Form: RTMP, Viewers: 1, Window: time.Second},
		"no address":     {Publish: addr, View: "localhost", Form: RTMP, Viewers: 1, Window: time.Second},
		"no viewers":     {Publish: addr, View: addr, Form: RTMP, Window: time.Second},
		"no form":        {Publish: addr, View: addr, Form: "hls", Viewers: 1, Window: time.Second},
		"no window":      {Publish: addr, View: addr, Form: RTMP, Viewers: 1},
	} {
		if _, err := runLoad(t, w); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := (Floor{Form: "hls"}).Serve(nil, io.Discard); err == nil {
		t.Error("a floor of an unknown form")
	}
}

// TestNginxRelays runs the peer, where it is installed.
func TestNginxRelays(t *testing.T) {
	addr, err := startNginx(t)
	for try := 0; err != nil && try < 3; try++ { // another program may have taken its port
		t.Log(err)
		addr, err = startNginx(t)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := runLoadFor(t, 10, Work{Publish: addr, View: addr, Form: RTMP, Viewers: 10, Warm: 50 * time.Millisecond, Window: 500 * time.Millisecond})
	if err != nil || r.Lost != 0 || r.Closed != 0 || r.Delivered < 10 {
		t.Errorf("%+v, %v", r, err)
	}
}

// startNginx runs one until the test ends, and waits until it listens: an error is one that has
// ended before.
func startNginx(t *testing.T) (addr string, err error) {
	t.Helper()
	cmd, addr, err := Nginx{Cork: 8}.Command(t.TempDir())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		cmd.Wait()
		close(gone)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-gone
	})
	return addr, Accepts(addr, longestWait, gone)
}
