package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// Length is how long a soak test works: SLUICE_SOAK, 1h say. It skips the test when that
// is not set.
func Length(t testing.TB) time.Duration {
	t.Helper()
	text := os.Getenv("SLUICE_SOAK")
	if text == "" {
		t.Skip("SLUICE_SOAK is not set, to 1h say: make soak")
	}
	length, err := time.ParseDuration(text)
	if err != nil || length <= 0 {
		t.Fatalf("SLUICE_SOAK=%s: want a time, 1h say", text)
	}
	return length
}

// A Watch takes samples until it is ended.
type Watch struct {
	t          testing.TB
	pid        atomic.Int64
	allocators []*mem.Allocator
	began      time.Time
	stop       chan struct{}
	done       sync.WaitGroup

	mu        sync.Mutex
	settled   time.Duration // when the work had become steady
	latencies histogram
	samples   []Sample
}

// Begin watches a process for about length: this one, or with a pid another of this
// machine, of which heap and goroutines are not known. The allocators are those whose
// blocks are counted.
func Begin(t testing.TB, length time.Duration, pid int, allocators ...*mem.Allocator) *Watch {
	w := &Watch{t: t, allocators: allocators, began: time.Now(), stop: make(chan struct{})}
	w.Follow(pid)
	every := min(max(length/60, 100*time.Millisecond), time.Minute)
	w.done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				for !w.sample() {
					select {
					case <-time.After(time.Millisecond): // the next process begins
					case <-w.stop:
						return
					}
				}
			case <-w.stop:
				return
			}
		}
	})
	return w
}

// Follow watches another process from now on, one that has taken the place of the first.
// Samples wait while there is none.
func (w *Watch) Follow(pid int) { w.pid.Store(int64(pid)) }

// Fills says that the work holds more and more until Settled is called. Nothing before that is judged.
func (w *Watch) Fills() { w.settle(never) }

// Settled says that from now on the work holds what it will hold.
func (w *Watch) Settled() { w.settle(time.Since(w.began)) }

func (w *Watch) settle(at time.Duration) {
	w.mu.Lock()
	w.settled = at
	w.mu.Unlock()
}

// Latency notes how long something took. Any goroutine may call it.
func (w *Watch) Latency(d time.Duration) {
	w.mu.Lock()
	w.latencies.add(d)
	w.mu.Unlock()
}

// sample takes one. It reports false when there is no process to take it of.
func (w *Watch) sample() bool {
	s := Sample{At: time.Since(w.began), Heap: -1, Goroutines: -1, Blocks: -1}
	pid := int(w.pid.Load())
	if pid == 0 {
		pid = os.Getpid()
		runtime.GC() // so that what is in use is what cannot be freed
		s.Heap, s.Goroutines = ofRuntime()
	}
	s.Resident, s.Descriptors = ofProcess(pid)
	if pid != os.Getpid() && s.Resident <= 0 {
		return false
	}
	for i, a := range w.allocators {
		if i == 0 {
			s.Blocks = 0
		}
		s.Blocks += float64(a.Stats().OutBytes)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s.P99 = w.latencies.percentile(99).Seconds()
	w.latencies = histogram{}
	w.samples = append(w.samples, s)
	w.t.Log(s)
	return true
}

// End takes no more samples, writes the page, and fails the test for what has grown. After a run
// that was too short to judge the test is skipped in its end, when all else has been checked:
// scripts/soak.sh makes an exit code of that.
func (w *Watch) End() Verdict {
	w.t.Helper()
	close(w.stop)
	w.done.Wait()
	j := Judge(w.samples, w.settled)
	if j.Verdict == Grew {
		for _, text := range j.Texts {
			w.t.Error(text)
		}
	}
	if j.Verdict == TooShort {
		w.t.Cleanup(func() { w.t.Skip(string(j.Verdict)+":", strings.Join(j.Texts, "; ")) })
	}
	dir := os.Getenv("SLUICE_SOAK_PAGES")
	if dir == "" {
		return j.Verdict
	}
	name := filepath.Join(dir, "soak-"+strings.ReplaceAll(w.t.Name(), "/", "-")+".html")
	if err := os.WriteFile(name, []byte(page(w.t.Name(), w.samples, j)), 0o644); err != nil {
		w.t.Error(fmt.Errorf("the page with the curves: %w", err))
	}
	return j.Verdict
}
