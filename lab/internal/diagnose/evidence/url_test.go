package evidence

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"runtime"
	"strings"
	"testing"
	"time"
)

func pprofServer(t *testing.T, path string) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc(path+"/debug/pprof/", func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = strings.TrimPrefix(r.URL.Path, path)
		switch r.URL.Path {
		case "/debug/pprof/profile":
			pprof.Profile(w, r)
		case "/debug/pprof/trace":
			pprof.Trace(w, r)
		default:
			pprof.Index(w, r)
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// busy does something that each profile shows, until the test is over.
func busy(t *testing.T) {
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		var l lockers
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = l.Run(8)
				_, _ = allocator{}.Run(2000)
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-done
		runtime.SetBlockProfileRate(0)
		runtime.SetMutexProfileFraction(0)
	})
}

func TestEvidenceOfAServer(t *testing.T) {
	t.Parallel()
	busy(t)
	s := pprofServer(t, "/inside")
	dir := t.TempDir()
	e, err := FromURL(t.Context(), s.URL+"/inside/", Options{Each: time.Second, Dir: dir, Tools: []string{ToolCPU, ToolAllocs, ToolLocks, ToolTrace, ToolStrace, ToolPerfStat, ToolPerfRecord, ToolScaling}})
	if err != nil {
		t.Fatal(err)
	}
	checkLeft(t, dir)
	for _, tool := range []string{ToolCPU, ToolAllocs, ToolLocks, ToolTrace} {
		if s := state(t, e, tool); s.State != OK || s.Note != "" {
			t.Errorf("%+v", s)
		}
	}
	for _, tool := range []string{ToolStrace, ToolPerfStat, ToolPerfRecord, ToolScaling} {
		if s := state(t, e, tool); s.State != Missing || s.Note == "" {
			t.Errorf("%+v", s)
		}
	}
	if e.Took < time.Second/2 || share(e.Space, "evidence.allocator.Run") == 0 || share(e.Mutex, "evidence.(*lockers).locked") == 0 || e.Workload != s.URL+"/inside/debug/pprof" {
		t.Errorf("%q took %v: %+v", e.Workload, e.Took, e.Mutex)
	}
	if b := waitIn(t, e.Trace, "sync", "evidence.(*lockers).locked"); b.WhileIO == 0 {
		t.Errorf("%+v", b)
	}
}

func TestAddressesOfServers(t *testing.T) {
	for base, want := range map[string]string{
		"localhost:6060":                      "http://localhost:6060/debug/pprof",
		"http://h/":                           "http://h/debug/pprof",
		"https://h:1/debug/pprof/":            "https://h:1/debug/pprof",
		"http://h/a/b/debug/pprof":            "http://h/a/b/debug/pprof",
		"http://h/debug/pprof/?key=1":         "http://h/debug/pprof?key=1",
		"http://me:secret@h:1/debug/pprof/#x": "http://me:secret@h:1/debug/pprof",
		"[::1]:6060":                          "http://[::1]:6060/debug/pprof",
	} {
		if u, err := pprofURL(base); err != nil || u.String() != want {
			t.Errorf("%s gives %v, %v", base, u, err)
		}
	}
	for _, base := range []string{"", "http://", "ftp://h/", "file:///etc/passwd", "http://me:secret@h:port/"} {
		if u, err := pprofURL(base); err == nil {
			t.Errorf("%q gives %s", base, u)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("a password in %v", err)
		}
	}
}

func TestServersThatDoNotAnswerAsTheyShould(t *testing.T) {
	for name, serve := range map[string]func(w http.ResponseWriter){
		"404":        func(w http.ResponseWriter) { http.Error(w, "no such page", http.StatusNotFound) },
		"HTML":       func(w http.ResponseWriter) { io.WriteString(w, "<html>") },
		"nothing":    func(http.ResponseWriter) {},
		"half of it": func(w http.ResponseWriter) { w.Write(bytes.Repeat([]byte{0x1f, 0x8b}, 7)) },
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { serve(w) }))
		e, err := FromURL(t.Context(), s.URL, Options{Each: time.Millisecond, Dir: t.TempDir(), Tools: []string{ToolCPU, ToolTrace}})
		if err == nil || e.CPU != nil || e.Trace != nil || state(t, e, ToolCPU).State != Failed || state(t, e, ToolTrace).State != Failed {
			t.Errorf("%s: %v, %+v", name, err, e.Tools)
		}
		if name == "404" && !strings.Contains(err.Error(), "no such page") {
			t.Errorf("the error does not say what the server does: %v", err)
		}
		s.Close()
	}
}

func TestAServerThatIsSilentIsLeft(t *testing.T) {
	asked := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	e, err := FromURL(ctx, s.URL, Options{Dir: t.TempDir(), Tools: []string{ToolCPU, ToolTrace}})
	if !errors.Is(err, context.Canceled) || len(e.Tools) != 1 {
		t.Errorf("%v, %+v", err, e.Tools)
	}
}
