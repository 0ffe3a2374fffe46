package evidence

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// A program that began late, or had no processor before, may use two at a time now.
func TestSharingIsLookedForInWhatUsesSeveralProcessorsNow(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("perf is a tool of Linux, and instructions of amd64 are decoded")
	}
	dir := t.TempDir()
	script := "#!/bin/sh\ncase $1 in record) for last; do :; done; exec sleep $last;; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "perf"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	before := &Evidence{Took: time.Second, CPUTime: time.Second / 2, Tools: []Tool{{Name: ToolProc, State: OK}}}
	look := func() string {
		_, note, err := sharingOf(t.Context(), os.Getpid(), dir, 100*time.Millisecond, before)
		if err != nil {
			t.Fatal(err)
		}
		return note
	}
	for tries := 0; look() == ""; tries++ { // threads that wait for a processor count, and others may have them
		if tries == 20 {
			t.Fatal("looked for in a program that used half a processor, and uses none")
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	var stop atomic.Bool
	defer stop.Store(true)
	for range 2 {
		go func() {
			for !stop.Load() {
			}
		}()
	}
	if note := look(); note != "" {
		t.Error(note)
	}
}

func TestGoroutinesSayHowManyProcessorsAreUsed(t *testing.T) {
	for name, c := range map[string]struct {
		waits  *Waits
		wanted time.Duration
		want   bool
	}{
		"one thread":                  {nil, time.Second, false},
		"two threads":                 {nil, 2 * time.Second, true},
		"one goroutine, two threads":  {&Waits{Running: 1, Runnable: 0.1}, 3 * time.Second / 2, false},
		"two goroutines, no time yet": {&Waits{Running: 1.9}, time.Second / 10, true},
	} {
		if got := usesSeveral(c.waits, c.wanted, time.Second); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Two threads write to one line: at the same time, or one after the other as with a lock, when
// there are half as many samples.
func TestALineIsSharedByThreadsThatRunAtTheSameTime(t *testing.T) {
	t.Parallel()
	code := bytes.NewReader([]byte{0x48, 0xff, 0x00, 0xc3}) // incq (%rax); ret
	const every = time.Second / sharingRate
	threads := func(alternating bool) (list []sample) {
		for i := range 4000 {
			for thread := range 2 {
				if !alternating || i%2 == thread {
					list = append(list, sample{
						thread: thread + 1, at: time.Duration(i)*every + time.Duration(thread)*every/3,
						where: Frame{Func: "count"}, regs: map[string]uint64{"AX": uint64(1<<20 + 8*thread)},
					})
				}
			}
		}
		return list
	}
	d := &decoder{mem: code, known: map[uint64][]access{}}
	if s := d.share(threads(false)); s.Parallel < 0.9 || s.Shared < 0.9 || s.Where == nil || s.Where.Func != "count" || s.Threads != 2 {
		t.Errorf("at the same time: %+v", s)
	}
	if s := d.share(threads(true)); s.Parallel > 0.1 || s.Shared > 0.1 {
		t.Errorf("one after the other: %+v", s)
	}
}
