package memory

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"
)

// Memory is returned when there is more of it than the last time, and enough.
func TestSpareMemoryIsReturnedOnceThereIsEnough(t *testing.T) {
	const mib = 1 << 20
	var s spare
	now := time.Now()
	for _, step := range []struct {
		after            time.Duration
		idle, used, live int64
		due              bool
		left             int64 // after it was returned
	}{
		{time.Second, 3 * mib, 0, 0, false, 0},
		{time.Second, 5 * mib, 12 * mib, 0, false, 0},
		{time.Second, 5 * mib, 0, 12 * mib, false, 0},
		{time.Second, 7 * mib, 12 * mib, 12 * mib, true, 2 * mib},
		{giveEvery / 2, 20 * mib, 0, 0, false, 0},
		{giveEvery / 2, 6 * mib, 0, 0, false, 0}, // 4 more than was left
		{0, 7 * mib, 0, 0, true, 6 * mib},
		{giveEvery, 9 * mib, 0, 0, false, 0},
		{giveEvery, 1 * mib, 0, 0, false, 0},
		{0, 6 * mib, 0, 0, true, 0},
	} {
		now = now.Add(step.after)
		if got := s.due(now, step.idle, step.used, step.live); got != step.due {
			t.Fatalf("%+v: due is %v", step, got)
		}
		if step.due {
			s.returned(now, step.left)
		}
	}
}

var sink []byte

// Garbage that was not collected yet counts as idle: a server that has become quiet would
// keep it for minutes.
func TestGarbageIsIdle(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var s spare
	debug.FreeOSMemory()
	before, _ := s.heap()
	for range 64 {
		sink = make([]byte, 1<<20)
	}
	sink = nil
	if after, _ := s.heap(); after-before < 60<<20 {
		t.Errorf("64 MiB of garbage made idle memory grow from %d to %d bytes", before, after)
	}
	debug.FreeOSMemory()
	if after, _ := s.heap(); after-before > 16<<20 {
		t.Errorf("after a collection idle memory has grown from %d to %d bytes", before, after)
	}
}

// What a crowd leaves while memory is being returned is returned the next time.
func TestWhatBecomesIdleDuringAReturnIsNotKept(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var s spare
	debug.FreeOSMemory()
	for range 64 {
		sink = make([]byte, 1<<20)
	}
	sink = nil
	now := time.Now()
	s.returned(now, scattered())
	if idle, live := s.heap(); !s.due(now.Add(giveEvery), idle, 0, live) {
		t.Errorf("%d of %d idle bytes are kept", s.kept, idle)
	}
	debug.FreeOSMemory() // or other tests find it
}

// What a crowd leaves that was there at the latest collection is idle, although nothing has
// been allocated since.
func TestACrowdThatHasLeftIsIdle(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const crowd, each = 500, 30 << 10
	var s spare
	leave := make(chan bool)
	var here, gone sync.WaitGroup
	here.Add(crowd)
	for range crowd {
		gone.Go(func() {
			session := bytes.Repeat([]byte{1}, each)
			here.Done()
			<-leave
			runtime.KeepAlive(session)
		})
	}
	here.Wait()
	runtime.GC()
	before, held := s.heap()
	close(leave)
	gone.Wait()
	after, live := s.heap()
	if got := after - before; got < crowd*each*9/10 || live > held-crowd*each*9/10 {
		t.Errorf("idle memory went from %d to %d bytes, what is in use from %d to %d", before, after, held, live)
	}
	if !s.due(time.Now(), after, 0, live) {
		t.Error("it is not returned")
	}
	debug.FreeOSMemory()
	if left, _ := s.heap(); left >= after {
		t.Errorf("after a collection %d bytes are idle, before it %d", left, after)
	}
}

func TestGoroutinesThatHaveEnded(t *testing.T) {
	var s spare
	for _, step := range []struct{ cycles, running, ended int64 }{
		{1, 100, 0},
		{1, 300, 0}, // newer than the collection
		{1, 40, 60},
		{2, 30, 10}, // some may have ended after the collection
		{2, 50, 0},
		{3, 70, 0},
		{3, 20, 50},
		{4, 20, 0},
	} {
		if got := s.ended(step.cycles, step.running); got != step.ended {
			t.Errorf("%+v: %d have ended", step, got)
		}
	}
}

// Stacks are in use: a session of WebRTC has a dozen of them.
func TestStacksAreInUse(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const crowd, each = 500, 32 << 10
	var s spare
	leave := make(chan bool)
	var here, gone sync.WaitGroup
	runtime.GC()
	_, before := s.heap()
	here.Add(crowd)
	for range crowd {
		gone.Go(func() {
			var deep [each]byte
			here.Done()
			<-leave
			runtime.KeepAlive(&deep)
		})
	}
	here.Wait()
	runtime.GC()
	if _, live := s.heap(); live-before < crowd*each {
		t.Errorf("%d bytes are in use by %d stacks of %d", live-before, crowd, each)
	}
	close(leave)
	gone.Wait()
}
