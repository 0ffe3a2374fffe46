package realtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

// quotaGroup makes a control group that has a twentieth of a processor, of either version.
func quotaGroup(t *testing.T) string {
	t.Helper()
	for _, in := range []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"} {
		dir := filepath.Join(in, fmt.Sprintf("sluice-test-%d", os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) }) // what was in it has ended
		for name, text := range map[string]string{"cpu.cfs_quota_us": "5000", "cpu.max": "5000 100000"} {
			if file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0); err == nil {
				_, err = file.WriteString(text)
				file.Close()
				if err == nil {
					return dir
				}
			}
		}
	}
	t.Skip("no control group with a quota of processor time can be made here")
	return ""
}

// TestAUsedUpQuotaIsNamedFirst: the program computes, and is stopped for most of the time.
func TestAUsedUpQuotaIsNamedFirst(t *testing.T) {
	group := quotaGroup(t)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "echo $$ >"+group+"/cgroup.procs && exec sh -c 'while :; do :; done'")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for deadline := time.Now().Add(10 * time.Second); ; {
		text, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the program is not in its group: %v", err)
		}
		if strings.TrimSpace(string(text)) != "" {
			break
		}
	}
	namedFirst(t, evidence.Target{Name: "quota", PID: cmd.Process.Pid}, "cpu-quota", filepath.Base(group))
}
