package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/report"
)

func TestLoadOnHTTP(t *testing.T) {
	var asked atomic.Pointer[http.Request]
	var body atomic.Pointer[string]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		text := string(b)
		body.Store(&text)
		asked.Store(r)
		if r.URL.Path == "/busy" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		w.Write([]byte("hello"))
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, []byte("what is asked"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, exit, r := loadUntilAnswered(t, "--conns", "2", "--header", "X-Test: yes", "--body", file, s.URL+"/a?b,c")
	if (exit != ExitOK && exit != ExitUnusable) || r.Bytes != 5*r.Requests || r.Errors > 0 || !strings.Contains(p.stdout.String(), "2xx") {
		t.Errorf("exit code %d, %d bytes in %d requests: %s%s", exit, r.Bytes, r.Requests, p.stdout.String(), p.stderr.String())
	}
	if a := asked.Load(); a.Method != "POST" || a.URL.RawQuery != "b,c" || a.Header.Get("X-Test") != "yes" || *body.Load() != "what is asked" {
		t.Errorf("asked with %s %s, %v, %q", a.Method, a.URL, a.Header, *body.Load())
	}
	p, exit, _ = loadUntilAnswered(t, s.URL+"/busy")
	if out := p.stdout.String(); exit != ExitUnusable || !strings.Contains(out, "5xx") || !strings.Contains(out, "INVALID") || !strings.Contains(out, "failures") {
		t.Errorf("a server that is busy: exit code %d, %s%s", exit, out, p.stderr.String())
	}
}

// A server that answers each connection's requests after 1 ms takes 1,000 of them a second.
func TestLoadSearches(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		timer := time.NewTimer(time.Millisecond)
		defer timer.Stop()
		<-timer.C
	}))
	defer s.Close()
	p, exit := run(t, append(append([]string{"load", "--json", "r.json", "--search", "P50=50ms"}, shortly...), "--rate", "50", s.URL)...)
	text, err := os.ReadFile(filepath.Join(p.dir, "r.json"))
	if err != nil {
		t.Fatalf("exit code %d, %v: %s%s", exit, err, p.stdout.String(), p.stderr.String())
	}
	var found load.Found
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	if found.Rate > 1000 || len(found.Steps) < 2 || (exit == ExitOK) != (found.Rate > 0) || !strings.Contains(p.stdout.String(), "holds") {
		t.Errorf("exit code %d, %+v: %s%s", exit, found, p.stdout.String(), p.stderr.String())
	}
}

// Steps of a search and rounds of a comparison that are whole are kept, and the exit code says
// that there would have been more.
func TestSearchAndCompareKeepWhatTheyHaveWhenInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGINT on this system")
	}
	for _, compare := range []bool{false, true} {
		var made atomic.Int64
		enough := make(chan struct{})
		stop := sync.OnceFunc(func() { close(enough) })
		// It takes its time, and the portable engine does not count what it waits for a processor:
		// rounds are valid on a machine that is busy.
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-time.After(2 * time.Millisecond) }))
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew && made.Add(1) == 8 { // each half of a round has one
				stop()
			}
		}
		s.Start()
		defer s.Close()
		args := []string{"load", "--json", "r.json", "--no-calibration", s.URL}
		if compare {
			args = append(args, "--engine", "portable", "--duration", "30s", "--compare", s.URL)
		} else {
			args = append(args, "--duration", "1s", "--warmup", "10ms", "--rate", "100", "--search", "P50=1m")
		}
		p := newProgram(t, args...)
		steps, written := io.Pipe()
		p.Cmd.Stdout = written
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(2*time.Minute, func() { p.Process.Kill() })
		ended := make(chan error, 1)
		go func() {
			ended <- p.Wait()
			written.Close()
		}()
		go func() {
			for lines := bufio.NewScanner(steps); lines.Scan(); {
				if strings.Contains(lines.Text(), "100/s") { // the first step
					stop()
				}
			}
		}()
		var err error
		select {
		case err = <-ended:
		case <-enough:
		}
		if err == nil {
			if err := p.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			err = <-ended
		}
		exit := code(t, err)
		late.Stop()
		if exit != ExitUnusable || !strings.Contains(p.stderr.String(), "interrupted") {
			t.Errorf("%q: exit code %d: %s", args, exit, p.stderr.String())
		}
		if r, err := report.Open(filepath.Join(p.dir, "r.json")); err != nil || r.Pair == nil && len(r.Search.Steps) == 0 || !r.Origin().Interrupted {
			t.Errorf("%q: %+v, %v: %s", args, r, err, p.stderr.String())
		}
	}
}

func TestLoadOnAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "data")
	args := []string{"--pattern", "randwrite", "--file-size", "1MiB", "--iodepth", "2", "file:" + name}
	p, exit, r := loadUntilAnswered(t, args...)
	if (exit != ExitOK && exit != ExitUnusable) || r.Requests == 0 || r.Bytes != 4096*r.Requests {
		t.Errorf("exit code %d, %d bytes in %d requests: %s%s", exit, r.Bytes, r.Requests, p.stdout.String(), p.stderr.String())
	}
	if err := os.WriteFile(name, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, exit = run(t, append([]string{"load"}, args...)...)
	if text, err := os.ReadFile(name); exit != ExitUsage || string(text) != "precious" || err != nil || !strings.Contains(p.stderr.String(), "exists") {
		t.Errorf("exit code %d, the file has %q, %v: %s", exit, text, err, p.stderr.String())
	}
}

func TestTargetsThatCannotBe(t *testing.T) {
	for line, says := range map[string]string{
		"ftp://127.0.0.1/":                                 "scheme",
		"--command PING 127.0.0.1:1":                       "not Redis",
		"--header x http://127.0.0.1:1":                    "invalid header",
		"--request /nonexistent --reply fixed:1 tcp://a:1": "--request",
		"--direct --size 100 file:/nonexistent/x":          "multiples",
		"--search P98=1ms http://127.0.0.1:1":              "--search",
		"--insecure http://127.0.0.1:1":                    "no TLS",
		"--keys -1 redis://127.0.0.1":                      "--keys",
	} {
		p, exit := run(t, append([]string{"load"}, strings.Fields(line)...)...)
		if exit != ExitUsage || !strings.Contains(p.stderr.String(), says) || strings.Count(p.stderr.String(), "\n") != 1 {
			t.Errorf("%s: exit code %d, %q does not say %q", line, exit, p.stderr.String(), says)
		}
	}
}

// The size of a pipe or a device says nothing: --request /dev/zero was read until there was no memory.
func TestARequestFromAPipeIsBounded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no /dev/fd")
	}
	for n, want := range map[int]bool{0: true, 1000: true, mostBody: true, mostBody + 1: false} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = w.Write(make([]byte, n)) // what is not read does not matter
			w.Close()
		}()
		p, err := readLimited(fmt.Sprintf("/dev/fd/%d", r.Fd()))
		r.Close()
		if (err == nil) != want || want && len(p) != n {
			t.Errorf("%d bytes: %d, %v", n, len(p), err)
		}
	}
}
