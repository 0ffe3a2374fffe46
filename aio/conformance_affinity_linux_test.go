package aio_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/aio"
)

func init() {
	suite = append(suite,
		behaviour{name: "SetLoopAffinity pins who waits", run: affinity, needs: pins, instead: noAffinity, on: onlyTCP},
		behaviour{name: "SetLoopAffinity while WaitIO sleeps", run: affinityWhileParked, needs: pins, on: onlyTCP},
	)
}

func noAffinity(f *fixture) {
	for _, set := range []func(int) error{f.w.SetLoopAffinity, f.w.SetPollerAffinity} {
		if err := set(0); !errors.Is(err, aio.ErrUnsupported) {
			f.Errorf("%v: %v, want ErrUnsupported", f.driver, err)
		}
	}
}

// allowed returns the processors that the calling thread may run on, as the
// kernel writes them: "0-3,8".
func allowed(f *fixture) string {
	f.Helper()
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		f.Skipf("the kernel does not tell: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return strings.TrimSpace(list)
		}
	}
	f.Skip("the kernel does not tell")
	return ""
}

// processors are the first and the last of a list.
func processors(f *fixture, list string) (first, last int) {
	f.Helper()
	numbers := strings.FieldsFunc(list, func(r rune) bool { return r == '-' || r == ',' })
	first, err1 := strconv.Atoi(numbers[0])
	last, err2 := strconv.Atoi(numbers[len(numbers)-1])
	if err := errors.Join(err1, err2); err != nil {
		f.Fatal(err)
	}
	return first, last
}

func affinity(f *fixture) {
	all := allowed(f)
	first, last := processors(f, all)
	for _, set := range []func(int) error{f.w.SetLoopAffinity, f.w.SetPollerAffinity} {
		for _, bad := range []int{-1, 100_000, math.MaxInt32} {
			if err := set(bad); !errors.Is(err, aio.ErrCPUID) {
				f.Errorf("processor %d: %v, want ErrCPUID", bad, err)
			}
		}
	}
	for _, cpu := range []int{first, last} {
		if err := f.w.SetLoopAffinity(cpu); err != nil {
			f.Fatalf("processor %d of %s: %v", cpu, all, err)
		}
		f.wantPinned(cpu)
	}
	f.wantUnpinned(all)
	if got := allowed(f); got != all {
		f.Errorf("the thread of the test may run on %s, and could on %s", got, all)
	}
}

// wantPinned calls WaitIO in a goroutine that looks afterwards where it may run.
func (f *fixture) wantPinned(cpu int) {
	f.Helper()
	if err := f.w.ReadTimeout(nil, f.idleConn(), nil, time.Unix(1, 0)); err != nil {
		f.Fatal(err)
	}
	where := make(chan string, 1)
	go func() {
		results, err := f.w.WaitIO()
		f.settle(results, err)
		where <- allowed(f)
	}()
	select {
	case got := <-where:
		if got != fmt.Sprint(cpu) {
			f.Errorf("who waits may run on %s, want %d only", got, cpu)
		}
	case <-time.After(eventTimeout):
		f.Fatalf("WaitIO has not returned\n%s", stacks())
	}
}

// wantUnpinned closes the watcher, which gives the thread back.
func (f *fixture) wantUnpinned(all string) {
	f.Helper()
	if err := f.w.ReadTimeout(nil, f.idleConn(), nil, time.Unix(1, 0)); err != nil {
		f.Fatal(err)
	}
	where := make(chan string, 1)
	go func() {
		for !f.closed {
			results, err := f.w.WaitIO()
			f.settle(results, err)
			if !f.closed {
				_ = f.w.Close()
			}
		}
		where <- allowed(f)
	}()
	select {
	case got := <-where:
		if got != all {
			f.Errorf("after Close who waited may run on %s, and could on %s", got, all)
		}
	case <-time.After(eventTimeout):
		f.Fatalf("WaitIO has not returned\n%s", stacks())
	}
}

// affinityWhileParked counts from the next WaitIO on.
func affinityWhileParked(f *fixture) {
	cpu, _ := processors(f, allowed(f))
	o := f.readTimeout(f.idleConn(), 1, never())
	f.park()
	f.promptly("SetLoopAffinity while WaitIO sleeps", func() {
		if err := f.w.SetLoopAffinity(cpu); err != nil {
			f.Error(err)
		}
	})
	f.free(o.conn)
	f.wait(o)
	f.wantPinned(cpu)
}
