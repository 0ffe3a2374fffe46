package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestMemStatsOfAProgram(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, url := range []string{server.URL + "/debug/pprof", server.URL + "/debug/pprof/"} {
		a, err := MemStats(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		const n = 10_000
		keep := make([]*[64]byte, n)
		for i := range keep {
			keep[i] = new([64]byte)
		}
		runtime.GC()
		runtime.KeepAlive(keep)
		b, err := MemStats(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		s := a.To(b)
		if s.Mallocs < n || s.Mallocs > 10*n || s.Bytes < 64*n || s.GCs < 1 || s.Pause == nil || *s.Pause <= 0 {
			t.Errorf("%+v", s)
		}
		if b.HeapInuse == 0 {
			t.Error("no heap in use")
		}
		// The server is this process: what it says of itself is close to it.
		if o := OwnMem(); o.Mallocs < b.Mallocs || o.NumGC < b.NumGC || o.NumGC > b.NumGC+10 {
			t.Errorf("of the program %+v, of this process %+v", b, o)
		}
	}
}

func TestMemStatsOfOthers(t *testing.T) {
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/not/heap", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	mux.HandleFunc("/hangs/heap", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/endless/heap", func(w http.ResponseWriter, _ *http.Request) {
		block := bytes.Repeat([]byte("x"), 1<<20)
		for range 2 * mostProfile >> 20 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	defer close(release)
	for _, c := range []struct{ url, says string }{
		{server.URL + "/not", "runtime.MemStats"},
		{server.URL + "/endless", "runtime.MemStats"},
		{server.URL + "/nothing", "404"},
		{"http://", "no address"},
		{"127.0.0.1:6060", ""},
		{"ftp://127.0.0.1/debug/pprof", "no address"},
	} {
		if _, err := MemStats(t.Context(), c.url); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.url, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := MemStats(ctx, server.URL+"/hangs"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// memText writes what a program says after so many collections, the n-th of
// which took n nanoseconds.
func memText(mallocs, gcs uint64) string {
	var pauses [256]uint64
	for n := uint64(1); n <= gcs; n++ {
		pauses[(n+255)%256] = n
	}
	return fmt.Sprintf("heap profile: 0: 0 [0: 0] @ heap/1048576\n# Mallocs = 999 above\n%s\n# runtime.MemStats\n# Alloc = 1\n"+
		"# TotalAlloc = %d\n# Mallocs = %d\n# HeapInuse = 4096\n# Stack = 1 / 2\n# PauseNs = %d\n# NumGC = %d\n# DebugGC = false\n",
		strings.Repeat("y", 200<<10), mallocs*10, mallocs, pauses, gcs)
}

func TestPausesBetweenTwoReadings(t *testing.T) {
	for _, c := range []struct {
		from, to uint64
		want     time.Duration // -1 for unknown
	}{
		{0, 0, 0}, {0, 1, 1}, {3, 5, 4 + 5}, {0, 256, 256 * 257 / 2}, {250, 260, 251 + 252 + 253 + 254 + 255 + 256 + 257 + 258 + 259 + 260},
		{1000, 1256, (1001 + 1256) * 128}, {1000, 1257, -1}, {0, 300, -1},
	} {
		var m [2]Mem
		for i, gcs := range []uint64{c.from, c.to} {
			var err error
			if m[i], err = parseMem(iotest.HalfReader(strings.NewReader(memText(100*gcs, gcs)))); err != nil {
				t.Fatal(err)
			}
		}
		s := m[0].To(m[1])
		got := time.Duration(-1)
		if s.Pause != nil {
			got = *s.Pause
		}
		if got != c.want || s.GCs != c.to-c.from || s.Mallocs != 100*s.GCs || s.Bytes != 1000*s.GCs {
			t.Errorf("from %d to %d: %v, %+v", c.from, c.to, got, s)
		}
	}
	// A program that was started again.
	a, _ := parseMem(strings.NewReader(memText(500, 5)))
	b, _ := parseMem(strings.NewReader(memText(200, 2)))
	if s := a.To(b); s.Mallocs != 200 || s.GCs != 2 || *s.Pause != 3 {
		t.Errorf("%+v, %v", s, *s.Pause)
	}
}

func TestMemTextsThatAreNotTheirForm(t *testing.T) {
	good := memText(1, 1)
	for _, text := range []string{
		"", strings.Replace(good, "# runtime.MemStats\n", "", 1), strings.Replace(good, "# NumGC = 1", "# NumGC = -1", 1),
		strings.Replace(good, "# Mallocs = 1\n", "", 1), strings.Replace(good, "PauseNs = [1 0", "PauseNs = [1", 1),
		strings.Replace(good, "PauseNs = [1 0", "PauseNs = [1 99999999999999", 1), strings.Repeat("z", 5*mostLine),
	} {
		if m, err := parseMem(strings.NewReader(text)); err == nil {
			t.Errorf("taken for %+v", m)
		}
	}
	broken := errors.New("broken")
	if _, err := parseMem(io.MultiReader(strings.NewReader(good), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// FuzzMem holds that what a target answers costs bounded work and gives sums
// that did not overflow.
func FuzzMem(f *testing.F) {
	f.Add([]byte(memText(7, 3)))
	f.Add([]byte("# runtime.MemStats\n# NumGC = 18446744073709551615\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseMem(bytes.NewReader(text))
		if err != nil {
			return
		}
		if s := (Mem{}).To(m); s.Pause != nil && (*s.Pause < 0 || uint64(*s.Pause) > m.PauseTotalNs) {
			t.Errorf("%v of %d", *s.Pause, m.PauseTotalNs)
		}
	})
}
