//go:build linux

package memory

import (
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A limit on addresses, of which the runtime has taken many at the start, is one on memory.
func TestMachineKeepsToResourceLimits(t *testing.T) {
	const variable = "SLUICE_TEST_RESOURCE"
	if text := os.Getenv(variable); text != "" {
		resource, _ := strconv.Atoi(text)
		used := kib("/proc/self/status", map[int]string{unix.RLIMIT_AS: "VmSize:", unix.RLIMIT_DATA: "VmData:"}[resource])
		limit := unix.Rlimit{Cur: uint64(used) + 512<<20, Max: math.MaxUint64}
		if err := unix.Setrlimit(resource, &limit); err != nil {
			t.Fatal(err)
		}
		if got := Machine(); got < 256<<20 || got > 512<<20-arenas {
			t.Errorf("%d bytes with 512 MiB left", got)
		}
		return
	}
	for _, resource := range []int{unix.RLIMIT_AS, unix.RLIMIT_DATA} {
		cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), variable+"="+strconv.Itoa(resource))
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("resource %d: %v\n%s", resource, err, out)
		}
	}
	for _, c := range []struct {
		limit uint64
		used  int64
		want  int64
	}{
		{math.MaxUint64, 1 << 30, 0},
		{2 << 30, 1 << 30, 1<<30 - arenas},
		{1 << 30, 1 << 30, leastRoom},
		{0, 0, leastRoom},
	} {
		if got := room(c.limit, c.used); got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.used, c.limit, got, c.want)
		}
	}
}
