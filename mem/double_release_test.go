package mem_test

import (
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

func TestASecondReleaseOfOneVariablePanics(t *testing.T) {
	a := mem.New(mem.Options{})
	b := a.Get(100)
	other := b.Retain()
	b.Release()
	mustPanic(t, "a second Release", b.Release, "mem: Buf.Release: the Buf is zero or was released")
	if other.Holders() != 1 || !other.Valid() {
		t.Errorf("the other holder's block has %d references", other.Holders())
	}
	other.Release()
}

func TestReleasingACopyOfTheSoleReferencePanicsAtEveryLevel(t *testing.T) {
	for _, level := range leakLevels {
		a := mem.New(mem.Options{Leak: level})
		b := a.Get(100)
		c := b
		b.Release()
		mustPanic(t, "Release of the copy, level "+level.String(), c.Release, "mem: Buf.Release: ", "released")
	}
}

func firstRelease(b mem.Buf)  { b.Release() }
func secondRelease(b mem.Buf) { b.Release() }

func TestReleasingACopyWhileOthersHoldTheBlockNamesBothLines(t *testing.T) {
	for _, level := range []mem.Level{mem.LeakTrace, mem.LeakParanoid} {
		a := mem.New(mem.Options{Leak: level})
		b := a.Get(100)
		other := b.Retain()
		third := other.RetainedSlice(1, 2)
		firstRelease(b)
		// The first line stands in the message, the second in the panic's stack.
		var trace string
		func() {
			defer func() {
				msg, _ := recover().(string)
				trace = string(debug.Stack())
				for _, want := range []string{"mem: Buf.Release: the Buf is a copy of one that was released already at\n", "mem_test.firstRelease", "double_release_test.go:"} {
					if !strings.Contains(msg, want) {
						t.Errorf("level %v: the message %q lacks %q", level, msg, want)
					}
				}
			}()
			secondRelease(b)
		}()
		if !strings.Contains(trace, "mem_test.secondRelease") {
			t.Errorf("level %v: the panic's stack lacks the second line:\n%s", level, trace)
		}
		if other.Holders() != 1 || other.Children() != 1 {
			t.Errorf("level %v: the refused Release left %d holders and %d children, want 1 and 1", level, other.Holders(), other.Children())
		}
		other.Release()
		third.Release()
		if n := len(a.Leaks()); n != 0 {
			t.Errorf("level %v: %d references outstanding", level, n)
		}
	}
}

// Releasing a copy a second time is refused in every build, and harms none of
// the other holders, however many there are.
func TestReleasingACopyWhileOthersHoldTheBytesPanics(t *testing.T) {
	for _, level := range leakLevels {
		for _, holders := range []int{2, 3, 17, 18, 19, 64, 100, 300} {
			for name, share := range map[string]func(a *mem.Allocator, dst []mem.Buf){
				"Share":  func(a *mem.Allocator, dst []mem.Buf) { dst[0] = a.Get(100); dst[0].Share(dst[1:]) },
				"Retain": func(a *mem.Allocator, dst []mem.Buf) { dst[0] = a.Get(100); retainAll(dst) },
				"CutFor": func(a *mem.Allocator, dst []mem.Buf) { s := a.Slab(4096); s.CutFor(dst, 7, 100); s.Release() },
				"Cut": func(a *mem.Allocator, dst []mem.Buf) {
					s := a.Slab(4096)
					dst[0] = s.Cut(7, 100)
					retainAll(dst)
					s.Release()
				},
			} {
				a := mem.New(mem.Options{Leak: level})
				all := make([]mem.Buf, holders)
				share(a, all)
				for i := range all {
					copied := all[i]
					all[i].Release()
					mustPanic(t, name, copied.Release, "mem: Buf.Release: ", "released")
					for k := range all[i+1:] {
						if !all[i+1+k].Valid() || all[i+1+k].Len() != 100 {
							t.Fatalf("level %v, %s, %d holders: holder %d lost its reference", level, name, holders, i+1+k)
						}
					}
				}
				if out := a.Stats().CheckedOut; out != 0 {
					t.Fatalf("level %v, %s, %d holders: %d blocks are out", level, name, holders, out)
				}
			}
		}
	}
}

// retainAll fills dst with references retained from the first one.
func retainAll(dst []mem.Buf) {
	for i := range dst[1:] {
		dst[i+1] = dst[0].Retain()
	}
}

func TestOfTwoCopiesReleasedAtOnceExactlyOneWins(t *testing.T) {
	for _, level := range leakLevels {
		if level != mem.LeakOff && sys.Race {
			continue // the record of a watched checkout is not meant for two holders of one reference
		}
		for _, kind := range bufKinds[:6] {
			a := mem.New(mem.Options{Leak: level})
			rounds := 300
			if kind.name == "above the classes" {
				rounds = 20
			}
			for range rounds {
				b := kind.make(a)
				copies := [3]mem.Buf{b, b, b}
				var start, end sync.WaitGroup
				var mu sync.Mutex
				var refused []string
				start.Add(1)
				for i := range copies {
					end.Go(func() {
						start.Wait()
						if msg := panicOf(copies[i].Release); msg != "" {
							mu.Lock()
							defer mu.Unlock()
							refused = append(refused, msg)
						}
					})
				}
				start.Done()
				end.Wait()
				if len(refused) != 2 {
					t.Fatalf("%s, level %v: of three Releases %d were refused: %q", kind.name, level, len(refused), refused)
				}
				for _, msg := range refused {
					if !strings.HasPrefix(msg, "mem: Buf.Release: the Buf ") {
						t.Fatalf("%s, level %v: refused with %q", kind.name, level, msg)
					}
				}
				if n := a.Stats().CheckedOut; n != 0 {
					t.Fatalf("%s, level %v: %d blocks are out", kind.name, level, n)
				}
			}
		}
	}
}
