package evidence

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"sync"
	"time"
)

// A mode is what the child does about its workload.
type mode string

const (
	modeCPU     mode = "cpu"
	modeAllocs  mode = "allocs"
	modeLocks   mode = "locks"
	modeTrace   mode = "trace"
	modeWatched mode = "watched" // others look at it from outside, until they are done
	modeCalls   mode = "calls"   // so too, at single system calls
	modeScaling mode = "scaling"
)

var modes = map[mode]func(*loop, job) (outcome, error){
	modeCPU:     underCPU,
	modeAllocs:  underAllocs,
	modeLocks:   underLocks,
	modeTrace:   underTrace,
	modeWatched: func(l *loop, j job) (outcome, error) { return l.alone(j.time) },
	modeCalls:   func(l *loop, j job) (outcome, error) { return l.alone(j.time) },
	modeScaling: underScaling,
}

// How finely the profiles are taken.
const (
	// allocEvery is the mean of bytes between two allocations that are recorded. The
	// runtime's own 512 KiB would give a workload of small slices a few
	// hundred samples in three seconds; with 4 KiB it slows down by some percent.
	allocEvery = 4 << 10
	// blockFrom is the time from which every wait is recorded. Of shorter ones a
	// part is, with their values raised accordingly.
	blockFrom = time.Microsecond
	// mutexEvery: every wait at a lock is recorded.
	mutexEvery = 1
)

func underCPU(l *loop, j job) (outcome, error) {
	f, err := os.Create(filepath.Join(j.dir, cpuFile))
	if err != nil {
		return outcome{}, err
	}
	defer f.Close()
	out, err := l.during(j.time, func() error { return pprof.StartCPUProfile(f) }, pprof.StopCPUProfile)
	return out, errors.Join(err, f.Close())
}

func underAllocs(l *loop, j job) (outcome, error) {
	var ended error
	out, err := l.during(j.time,
		func() error { return writeAllocs(j.dir, beforeFile) },
		func() { ended = writeAllocs(j.dir, allocsFile) })
	return out, errors.Join(err, ended)
}

// writeAllocs collects twice before it writes: what was allocated before the
// first collection is in the profile after the second.
func writeAllocs(dir, file string) error {
	runtime.GC()
	runtime.GC()
	return writeProfile("allocs", dir, file)
}

func underLocks(l *loop, j job) (outcome, error) {
	var ended error
	out, err := l.during(j.time,
		func() error {
			runtime.SetBlockProfileRate(int(blockFrom))
			runtime.SetMutexProfileFraction(mutexEvery)
			return nil
		},
		func() {
			runtime.SetBlockProfileRate(0)
			runtime.SetMutexProfileFraction(0)
			ended = errors.Join(writeProfile("mutex", j.dir, mutexFile), writeProfile("block", j.dir, blockFile))
		})
	return out, errors.Join(err, ended)
}

func writeProfile(name, dir, file string) error {
	f, err := os.Create(filepath.Join(dir, file))
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup(name).WriteTo(f, 0), f.Close())
}

// maxWritten is the size at which an execution trace is ended, half of what is
// read: what the runtime still has to write comes on top.
const maxWritten = maxTrace / 2

func underTrace(l *loop, j job) (outcome, error) {
	f, err := os.Create(filepath.Join(j.dir, traceFile))
	if err != nil {
		return outcome{}, err
	}
	defer f.Close()
	w := &meteredFile{f: f, full: make(chan struct{})}
	var once sync.Once
	stop := func() { once.Do(trace.Stop) }
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		w.awaitFull(stop, done)
	}()
	out, err := l.during(j.time, func() error { return trace.Start(w) }, stop)
	close(done)
	<-over
	select {
	case <-w.full:
		out.Cut = true
	default:
	}
	return out, errors.Join(err, f.Close())
}

// meteredFile reports when it has grown to maxWritten. It is written to by one
// goroutine at a time.
type meteredFile struct {
	f    *os.File
	size int64
	full chan struct{}
}

func (m *meteredFile) Write(p []byte) (int, error) {
	n, err := m.f.Write(p)
	if m.size < maxWritten && m.size+int64(n) >= maxWritten {
		close(m.full)
	}
	m.size += int64(n)
	return n, err
}

// awaitFull calls stop when the file is full, unless done is first.
func (m *meteredFile) awaitFull(stop func(), done <-chan struct{}) {
	select {
	case <-m.full:
		stop()
	case <-done:
	}
}
