package memory

import (
	"path/filepath"
	"testing"
)

// The group with the lowest limit says what is in use; what the kernel can drop is not.
func TestWhatTheControlGroupUses(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name                 string
		files                map[string]string
		limit, used, sockets int64
	}{
		{"none", map[string]string{"proc/self/cgroup": "0::/\n"}, 0, 0, 0},
		{"version 2, of the group above", map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "groups/a/b/memory.max": "max\n", "groups/a/b/memory.current": "1\n",
			"groups/a/memory.max": "134217728\n", "groups/a/memory.current": "104857600\n",
			"groups/a/memory.stat": "anon 1\nfile 40000000\nsock 20971520\ninactive_file 10485760\nactive_file 20971520\n",
		}, 128 * mib, 70 * mib, 20 * mib},
		{"version 2, of the lower limit", map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "groups/a/b/memory.max": "134217728\n", "groups/a/b/memory.current": "1\n",
			"groups/a/memory.max": "268435456\n", "groups/a/memory.current": "2\n", "groups/memory.max": "268435456\n",
		}, 128 * mib, 1, 0},
		{"version 1, with the groups below", map[string]string{
			"proc/self/cgroup": "4:memory:/c\n", "groups/memory/c/memory.limit_in_bytes": "134217728\n",
			"groups/memory/c/memory.usage_in_bytes": "104857600\n",
			"groups/memory/c/memory.stat":           "inactive_file 1\nactive_file 1\ntotal_inactive_file 10485760\ntotal_active_file 0\n",
		}, 128 * mib, 90 * mib, 0},
	} {
		dir := laidOut(t, c.files)
		g := tightest(filepath.Join(dir, "proc"), filepath.Join(dir, "groups"))
		if used, sockets := g.used(); g.limit != c.limit || used != c.used || sockets != c.sockets {
			t.Errorf("%s: %d bytes, %d of them for sockets, of %d", c.name, used, sockets, g.limit)
		}
	}
}
