package release

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// toolsShell is the directory of a machine that has only Go and a shell. Its
// apt-get finds the lock taken twice, and then installs or fails.
func toolsShell(t *testing.T, install string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sh", "sed", "tr", "sort", "tail", "cat"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"go":    "",
		"id":    "echo 0",
		"sleep": "echo slept >>$LOG",
		"apt-get": `echo "$@" >>$LOG
case $1 in
update)
	if [ "$(sed -n /update/p $LOG | tail -n +3)" = "" ]; then
		echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)" >&2
		exit 100
	fi ;;
install)
	` + install + ` ;;
esac`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ensureTools runs the script where some more commands do nothing, and succeed.
func ensureTools(t *testing.T, install string, more ...string) (said, log string, err error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts need a shell")
	}
	dir := toolsShell(t, install)
	for _, name := range more {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	logFile := filepath.Join(dir, "log")
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "sh"), "../../scripts/ensure-tools.sh")
	cmd.Env = []string{"PATH=" + dir, "LOG=" + logFile, "BIN=" + dir, "TOOLS_ROOT=" + dir}
	out, err := cmd.CombinedOutput()
	text, _ := os.ReadFile(logFile)
	return string(out), string(text), err
}

func TestToolsAreInstalledWhenTheLockIsFree(t *testing.T) {
	script, err := os.ReadFile("../../scripts/ensure-tools.sh")
	if err != nil {
		t.Fatal(err)
	}
	// The first command or file of each line of the table.
	var tools, install []string
	for line := range strings.Lines(string(script)) {
		fields := strings.Split(line, "|")
		if len(fields) != 3 || strings.Contains(line, "$") || line[0] != '/' && (line[0] < 'a' || line[0] > 'z') {
			continue
		}
		tool := strings.Fields(fields[0])[0]
		tools = append(tools, tool)
		if line[0] == '/' {
			install = append(install, "/bin/mkdir -p $BIN"+path.Dir(tool), "echo >$BIN"+tool)
		} else {
			install = append(install, "echo >$BIN/"+tool, "/bin/chmod +x $BIN/"+tool)
		}
	}
	if len(tools) < 7 {
		t.Fatalf("the table of the script has %q", tools)
	}
	said, log, err := ensureTools(t, strings.Join(install, "\n"))
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if strings.Count(log, "update") != 3 || strings.Count(log, "slept") != 2 || strings.Count(log, "install -y") != 1 || !strings.Contains(log, "Lock::Timeout") {
		t.Errorf("called\n%s", log)
	}
	if !strings.Contains(said, "waiting for another apt-get") {
		t.Errorf("said %s", said)
	}
}

// TestOlderSystemsHaveTheWholeChromium has the one that has no window where the system knows it.
func TestOlderSystemsHaveTheWholeChromium(t *testing.T) {
	_, log, _ := ensureTools(t, `[ "$LOG" = "" ]`)
	if !strings.Contains(log, " chromium ") || strings.Contains(log, "headless") {
		t.Errorf("without it:\n%s", log)
	}
	_, log, _ = ensureTools(t, `[ "$LOG" = "" ]`, "apt-cache")
	if !strings.Contains(log, " chromium-headless-shell ") {
		t.Errorf("with it:\n%s", log)
	}
}

func TestToolsThatCannotBeInstalledSayWhy(t *testing.T) {
	said, _, err := ensureTools(t, `echo "E: Unable to locate package strace" >&2; exit 100`)
	if err == nil || !strings.Contains(said, "Unable to locate package strace") || !strings.Contains(said, "apt-get install chromium") {
		t.Errorf("%v: %s", err, said)
	}
}
