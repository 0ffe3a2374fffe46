package memory

import (
	"os"
	"path/filepath"
	"testing"
)

// laidOut returns a directory with these files.
func laidOut(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestMachine(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing is known", nil, 0},
		{"no groups", map[string]string{"proc/meminfo": "MemFree: 1 kB\nMemTotal:   2048 kB\n"}, 2 << 20},
		{"version 2", map[string]string{
			"proc/meminfo": "MemTotal: 4096 kB\n", "proc/self/cgroup": "0::/a/b\n",
			"groups/a/b/memory.max": "max\n", "groups/a/memory.max": "1048576\n",
		}, 1 << 20},
		{"version 1", map[string]string{
			"proc/meminfo": "MemTotal: 4096 kB\n", "proc/self/cgroup": "5:cpu:/x\n4:hugetlb,memory:/c\n",
			"groups/memory/c/memory.limit_in_bytes": "2097152\n", "groups/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 2 << 20},
		{"a group that may have more", map[string]string{
			"proc/meminfo": "MemTotal: 4096 kB\n", "proc/self/cgroup": "0::/\n", "groups/memory.max": "9000000000\n",
		}, 4 << 20},
	} {
		dir := laidOut(t, c.files)
		if got := machine(filepath.Join(dir, "proc"), filepath.Join(dir, "groups")); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
	if Machine() < 1<<20 {
		t.Errorf("this machine has %d bytes", Machine())
	}
}
