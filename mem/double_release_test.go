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
	mustPanic(t, "a second Release", b.Release, "mem: Buf.Release: the Buf is empty or was released")
	if other.Refs() != 1 || !other.Valid() {
		t.Errorf("the other holder's block has %d references", other.Refs())
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
		if other.Refs() != 2 {
			t.Errorf("level %v: the refused Release left %d references, want 2", level, other.Refs())
		}
		other.Release()
		third.Release()
		if n := len(a.Leaks()); n != 0 {
			t.Errorf("level %v: %d references outstanding", level, n)
		}
	}
}

// What the doc comment of Buf says cannot be seen, shown.
func TestReleasingACopyWhileOthersHoldTheBlockIsNotSeenWithoutTokens(t *testing.T) {
	a := mem.New(mem.Options{})
	b := a.Get(100)
	other := b.Retain()
	c := b
	b.Release()
	if msg := panicOf(c.Release); msg != "" {
		t.Fatalf("the documentation of Buf can promise more: %q", msg)
	}
	mustPanic(t, "Release by the one who lost his reference", other.Release, "mem: Buf.Release: ", "released")
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
