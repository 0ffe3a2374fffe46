package hooks

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func ended(t *testing.T, e *Events) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestEventsAreDeliveredInOrderAndSigned(t *testing.T) {
	r := newReceiver(t)
	r.secret = []byte("0123456789abcdef")
	r.listen()
	e := reporting(t, r, t.TempDir())
	numbered(e, 0, 500)
	r.inOrder(t, 500)
	numbered(e, 500, 510)
	ended(t, e) // delivers what waits
	r.inOrder(t, 510)
	e.Add(Event{Event: PlayBegin})
	ended(t, e)
	if r.again != 0 || testutil.ToFloat64(e.metrics.sent) != 510 {
		t.Errorf("%d came again, %v were sent", r.again, testutil.ToFloat64(e.metrics.sent))
	}
}

// A receiver that is absent, answers errors, hangs, or dies in the middle of an
// answer loses nothing: events come later, in order, and again with the same id.
func TestReceiversThatFail(t *testing.T) {
	for name, f := range map[string]struct {
		fault, late func(http.ResponseWriter) bool
	}{
		"absent":             {},
		"answers 500":        {fault: func(w http.ResponseWriter) bool { w.WriteHeader(500); return true }},
		"answers 404":        {fault: func(w http.ResponseWriter) bool { w.WriteHeader(404); return true }},
		"redirects":          {fault: func(w http.ResponseWriter) bool { w.Header().Set("Location", "/x"); w.WriteHeader(307); return true }},
		"dies before":        {fault: cut},
		"dies in the middle": {late: cut},
		"answers 500 after":  {late: func(w http.ResponseWriter) bool { w.WriteHeader(500); return true }},
		"hangs":              {late: func(w http.ResponseWriter) bool { <-time.After(1200 * time.Millisecond); return cut(w) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReceiver(t)
			var failed atomic.Int64
			count := func(f func(http.ResponseWriter) bool) func(http.ResponseWriter) bool {
				if f == nil {
					return nil
				}
				return func(w http.ResponseWriter) bool { failed.Add(1); return f(w) }
			}
			r.faults(count(f.fault), count(f.late))
			if name != "absent" {
				r.listen()
			}
			timeout := time.Minute
			if name == "hangs" {
				timeout = time.Second
			}
			e := reportingWithin(t, r, t.TempDir(), timeout)
			numbered(e, 0, 150)
			if name == "absent" {
				eventually(t, "an attempt has failed", func() bool { return testutil.CollectAndCount(e.metrics.durations) > 0 })
				r.listen()
			} else {
				eventually(t, "two attempts have failed", func() bool { return failed.Load() >= 2 })
			}
			r.faults(nil, nil)
			numbered(e, 150, 160)
			r.inOrder(t, 160)
			ended(t, e)
			if f.late != nil && r.again == 0 {
				t.Error("nothing came again")
			}
			if lines := e.spool.lines.Load(); lines != 0 {
				t.Errorf("%d events wait", lines)
			}
		})
	}
}

// Events outlive the process while their receiver is absent, and are not taken for
// those of another.
func TestEventsOutliveTheProcess(t *testing.T) {
	r, dir := newReceiver(t), t.TempDir()
	for n := range 4 {
		e := reporting(t, r, dir)
		numbered(e, n*700, (n+1)*700)
		began := time.Now()
		ended(t, e)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("Close took %v with a receiver that is absent", took)
		}
	}
	r.listen()
	e := reporting(t, r, dir)
	r.inOrder(t, 2800)
	ended(t, e)
	e = reporting(t, r, dir)
	numbered(e, 2800, 2801)
	r.inOrder(t, 2801)
	ended(t, e)
	if r.again != 0 {
		t.Errorf("%d events came again", r.again)
	}
}

// Whatever the receiver does and whenever the server restarts, or crashes, each
// event is taken, in order.
func TestRandomHistoryOfDeliveries(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	r, dir := newReceiver(t), t.TempDir()
	var draw atomic.Uint64
	draw.Store(seed)
	sometimes := func(f func(http.ResponseWriter) bool) func(http.ResponseWriter) bool {
		return func(w http.ResponseWriter) bool { return draw.Add(0x9e3779b97f4a7c15)>>61 < 2 && f(w) }
	}
	r.faults(sometimes(cut), sometimes(cut))
	r.listen()
	e, n := reporting(t, r, dir), 0
	for range 60 {
		more := random.IntN(200)
		numbered(e, n, n+more)
		n += more
		switch random.IntN(6) {
		case 0:
			r.die()
		case 1:
			r.die()
			r.listen()
		case 2:
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(20))*time.Millisecond)
			if err := e.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			cancel()
			if random.IntN(2) == 0 { // a crash loses the position, and cuts the last line off
				os.Remove(filepath.Join(dir, positionFile))
				appendTo(t, newestFile(t, dir), `{"id":"cut`)
			}
			e = reporting(t, r, dir)
		}
	}
	r.die()
	r.listen()
	r.faults(nil, nil)
	r.inOrder(t, n)
	ended(t, e)
	t.Logf("%d events, %d came again", n, r.again)
}

// What a crash or the disk has damaged is left out, and holds up nothing that is behind it.
func TestDamagedEventsAreLeftOut(t *testing.T) {
	for name, damage := range map[string]string{
		"no event":        "0\n",
		"zeros":           strings.Repeat("\x00", 5000) + "\n",
		"half an event":   `{"id":"1-1","event":"play_be` + "\n",
		"an empty line":   "\n\n",
		"a very long one": strings.Repeat("x", 3*maxLine) + "\n" + strings.Repeat("y", maxLine+1) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newReceiver(t), t.TempDir()
			e := reporting(t, r, dir)
			numbered(e, 0, 150)
			ended(t, e)
			file := newestFile(t, dir)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(string(text), "\n")
			lines[0] = damage + lines[0]
			lines[130] += damage
			lines = append(lines, damage)
			if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600); err != nil {
				t.Fatal(err)
			}
			r.listen()
			e = reporting(t, r, dir)
			numbered(e, 150, 151)
			r.inOrder(t, 151)
			ended(t, e)
			if size, n := e.spool.size(); n != 0 || size > segmentSize {
				t.Errorf("%d lines are left, of %d bytes", n, size)
			}
		})
	}
}

func newestFile(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+segmentEnd))
	if err != nil || len(names) == 0 {
		return filepath.Join(dir, "0000000001"+segmentEnd)
	}
	return names[len(names)-1]
}

func appendTo(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The spool is bounded: events above it are counted, in the metrics and in an event.
func TestFullSpoolSaysHowManyAreLost(t *testing.T) {
	r, dir := newReceiver(t), t.TempDir()
	e := reporting(t, r, dir)
	e.queue.mu.Lock()
	e.queue.most = 200 << 10
	e.queue.mu.Unlock()
	numbered(e, 0, 5000)
	lost := int64(testutil.ToFloat64(e.metrics.lost))
	if lost == 0 || e.spool.held.Load() > 200<<10 {
		t.Fatalf("%d are lost, %d bytes are held", lost, e.spool.held.Load())
	}
	r.listen()
	// A file that is not full stays, so make room as a longer life would.
	e.queue.mu.Lock()
	e.queue.most = 1 << 20
	e.queue.mu.Unlock()
	numbered(e, 5000, 5001)
	eventually(t, "the last has come", func() bool {
		got := r.events()
		return len(got) > 0 && got[len(got)-1].Stream == "live/5000"
	})
	n, said := 0, int64(0) // the next event, and how many the receiver knows to be lost
	for _, v := range r.events() {
		if v.Event == Lost {
			n, said = n+int(v.Count), said+v.Count
		} else if v.Stream != fmt.Sprint("live/", n) {
			t.Fatalf("%s where %d were to come", v.Stream, n)
		} else {
			n++
		}
	}
	if n != 5001 || float64(said) != testutil.ToFloat64(e.metrics.lost) || said < lost {
		t.Errorf("%d events, %d of them lost, counted are %v", n, said, testutil.ToFloat64(e.metrics.lost))
	}
	ended(t, e)
}

// An event that is longer than the spool's reader takes is lost and counted.
func TestTooLongAnEventIsLost(t *testing.T) {
	r := newReceiver(t)
	e := reporting(t, r, t.TempDir())
	e.Add(Event{Event: Refused, Stream: "live/s", Agent: strings.Repeat("x", maxLine)})
	numbered(e, 0, 1)
	r.listen()
	eventually(t, "the next has come", func() bool { return len(r.events()) == 2 })
	if got := r.events(); got[0].Event != Lost || got[0].Count != 1 || got[1].Stream != "live/0" || testutil.ToFloat64(e.metrics.lost) != 1 {
		t.Errorf("%+v, counted are %v", got, testutil.ToFloat64(e.metrics.lost))
	}
	ended(t, e)
}

// A disk that is full loses events, and each of them is counted in what comes later. The
// spool's end is no error.
func TestFullDiskSaysHowManyAreLost(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no full disk on this system")
	}
	r, dir := newReceiver(t), t.TempDir()
	e := reporting(t, r, dir)
	numbered(e, 0, 1)
	eventually(t, "the first is in the spool", func() bool { _, n := e.spool.size(); return n == 1 })
	swap := func(f *os.File) (before *os.File) {
		e.spool.mu.Lock()
		defer e.spool.mu.Unlock()
		before, e.spool.out = e.spool.out, f
		return before
	}
	good := swap(full)
	for i := 1; i < 4; i++ {
		numbered(e, i, i+1)
		eventually(t, "it is lost", func() bool {
			e.queue.mu.Lock()
			defer e.queue.mu.Unlock()
			return e.queue.failing && e.queue.lines == 0 && e.queue.missed == int64(i)
		})
	}
	swap(good)
	numbered(e, 4, 5)
	if err := os.Mkdir(filepath.Join(dir, positionFile+".new"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.listen()
	eventually(t, "the last has come", func() bool { return len(r.events()) == 3 })
	if got := r.events(); got[1].Event != Lost || got[1].Count != 3 || got[2].Stream != "live/4" || testutil.ToFloat64(e.metrics.lost) != 3 {
		t.Errorf("%+v, counted are %v", got, testutil.ToFloat64(e.metrics.lost))
	}
	ended(t, e)
	full.Close()
}

// Delivered files are removed.
func TestSpoolShrinks(t *testing.T) {
	r, dir := newReceiver(t), t.TempDir()
	e := reporting(t, r, dir)
	const n = 3000 // some 3 MB
	for i := range n {
		e.Add(Event{Event: PlayBegin, Stream: fmt.Sprint("live/", i), Agent: strings.Repeat("a", 1000)})
		if i%500 == 499 { // what is written together is in one file
			eventually(t, "they are in files", func() bool { return e.spool.lines.Load() == int64(i+1) })
		}
	}
	most := e.spool.held.Load()
	r.listen()
	r.inOrder(t, n)
	ended(t, e)
	names, err := filepath.Glob(filepath.Join(dir, "*"+segmentEnd))
	if held := e.spool.held.Load(); most < 2*segmentSize || held > segmentSize+most/10 || len(names) != 1 || err != nil {
		t.Errorf("%d of %d bytes, files %v, %v", held, most, names, err)
	}
}

func TestSpoolThatCannotBeUsed(t *testing.T) {
	r, dir := newReceiver(t), t.TempDir()
	e := reporting(t, r, dir)
	defer ended(t, e)
	if _, err := NewEvents(EventOptions{URL: r.url(), Dir: dir}); !errors.Is(err, ErrSpool) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second server in the directory: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	appendTo(t, file, "x")
	if _, err := NewEvents(EventOptions{URL: r.url(), Dir: file}); !errors.Is(err, ErrSpool) {
		t.Errorf("a file: %v", err)
	}
	if _, err := NewEvents(EventOptions{URL: "ftp://u:hunter2@host/"}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a URL: %v", err)
	}
}

// Without a directory the files are temporary.
func TestEventsWithoutADirectory(t *testing.T) {
	r := newReceiver(t)
	r.listen()
	e := reporting(t, r, "")
	numbered(e, 0, 20)
	ended(t, e)
	r.inOrder(t, 20)
	if _, err := os.Stat(e.spool.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", e.spool.dir, err)
	}
}
