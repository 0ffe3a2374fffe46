package diagnose

import (
	"slices"
	"testing"
)

func TestOwnFunctionsAreToldFromOthers(t *testing.T) {
	for fn, want := range map[string]bool{
		"main.main":                                       true,
		"github.com/a/b/c.(*T).Write":                     true,
		"example.org/x.F[go.shape.int]":                   true,
		"github.com/a/b%2ec.F":                            true,
		"net.(*conn).Write":                               false,
		"internal/poll.(*FD).Write":                       false,
		"golang.org/x/sys/unix.Write":                     false,
		"runtime.mallocgc":                                false,
		"encoding/json.(*Encoder).Encode":                 false,
		"maps.Copy[go.shape.map[string]github.com/a/b.T]": false,
		"[unknown]":                                       false,
		"_raw_spin_lock":                                  false,
		"":                                                false,
	} {
		if isOwn(fn) != want {
			t.Errorf("isOwn(%q) = %v", fn, !want)
		}
	}
	for fn, want := range map[string]string{
		"github.com/a/b/c.(*T).Write": "c.(*T).Write",
		"main.f":                      "main.f",
		"maps.Copy[go.shape.map[string]github.com/a/b.T]": "maps.Copy",
		"[unknown]": "[unknown]",
	} {
		if got := short(fn); got != want {
			t.Errorf("short(%q) = %q, want %q", fn, got, want)
		}
	}
	if f, ok := own(frames("runtime.mallocgc", "io.ReadAll", "main.f", "main.main")); !ok || f.Func != "main.f" {
		t.Errorf("own: %+v", f)
	}
	if f, ok := own(frames("runtime.gcDrain", "runtime.gcBgMarkWorker")); ok || f.Func != "runtime.gcDrain" {
		t.Errorf("own without any: %+v", f)
	}
	if got := root(frames("a.f", "main.serve", "sync.(*WaitGroup).Go.func1", "runtime.goexit")); got != "main.serve" {
		t.Errorf("root: %s", got)
	}
	if got := ownFuncs(frames("runtime.chanrecv1", "main.(*T).f.func1.2", "main.(*T).f", "main.(*T).g.gowrap1")); !slices.Equal(got, []string{"main.(*T).f", "main.(*T).g"}) {
		t.Errorf("ownFuncs: %q", got)
	}
}

func TestFlushOfCompressorsOnly(t *testing.T) {
	for fn, want := range map[string]bool{
		"compress/gzip.(*Writer).Flush":                       true,
		"compress/flate.(*Writer).Flush":                      true,
		"compress/flate.(*compressor).syncFlush":              true,
		"compress/zlib.(*Writer).Flush":                       true,
		"github.com/klauspost/compress/zstd.(*Encoder).Flush": true,
		"github.com/klauspost/compress/s2.(*Writer).Flush":    true,
		"github.com/klauspost/pgzip.(*Writer).Flush":          true,
		"github.com/pierrec/lz4/v4.(*Writer).Flush":           true,
		"github.com/andybalholm/brotli.(*Writer).Flush":       true,
		"github.com/golang/snappy.(*Writer).Flush":            true,
		"bufio.(*Writer).Flush":                               false,
		"net/http.(*response).Flush":                          false,
		"compress/flate.(*Writer).Write":                      false,
		"main.(*logger).flush":                                false,
		"text/tabwriter.(*Writer).Flush":                      false,
	} {
		if isFlush(fn) != want {
			t.Errorf("isFlush(%q) = %v", fn, !want)
		}
	}
}

func TestSizesOfCalls(t *testing.T) {
	c := called(calls("write", 10, 64, 64), calls("sendto", 5, 70000, 70000), calls("read", 7, 8, 8), calls("write", 9, 8, 8))
	r, w := movedBy(c, readCalls), movedBy(c, writeCalls)
	r.less(&w, wakeSize)
	if w.count != 17 || w.under512 != 12 || r.count != 0 || r.under512 != 0 {
		t.Errorf("writes %+v, reads %+v", w, r)
	}
	if size, part := usual(w.sizes); size != 64 || part < 0.58 || part > 0.6 {
		t.Errorf("usual: %d, %v", size, part)
	}
	if size, part := usual(nil); size != 0 || part != 0 {
		t.Errorf("usual of none: %d, %v", size, part)
	}
	if got := most(map[int64]int64{4096: 500, 3000: 499, 1 << 20: 1}); got != 4096 {
		t.Errorf("most: %d", got)
	}
	// The end of a stream moves nothing.
	end := movedBy(called(calls("read", 3, 0, 4096), calls("read", 2, 100, 4096)), readCalls)
	if end.count != 2 || end.part(end.under512) != 1 {
		t.Errorf("%+v", end)
	}
}
