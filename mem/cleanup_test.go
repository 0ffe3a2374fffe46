package mem_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/mem"
)

// Go's checkfinalizers ends a program when something that has a cleanup can be
// reached from it: a cached block by way of its allocator, for one.
func TestNoCleanupLeadsToItsBlock(t *testing.T) {
	const child = "SLUICE_CLEANUPS"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestNoCleanupLeadsToItsBlock$")
		cmd.Env = append(os.Environ(), child+"=1", "GODEBUG=checkfinalizers=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			first, _, _ := strings.Cut(string(out), "runtime stack:")
			t.Fatalf("%v\n%s", err, first)
		}
		return
	}
	a := mem.New(mem.Options{Budget: 1 << 20})
	for _, n := range []int{1, 300, 70_000} {
		out, back := a.Get(n), a.Get(n)
		back.Release()
		kept, freed := a.Malloc(n), a.Malloc(n)
		if err := a.Free(freed); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			runtime.GC()
		}
		out.Release()
		runtime.KeepAlive(kept)
	}
	runtime.KeepAlive(a)
}
