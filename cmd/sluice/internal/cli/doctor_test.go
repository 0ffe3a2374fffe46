package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What serve would refuse is a problem to doctor, also in files and directories for some streams.
func TestDoctorSaysWhatServeWouldRefuse(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	settings := filepath.Join(dir, "sluice.yaml")
	for name, text := range map[string]string{file: "{", settings: "streams:\n  live/*: {record: '" + dir + "'}\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	doctor := []string{"doctor", "--rtmp", "127.0.0.1:0", "--http", "off", "--rtsp", "off", "--webrtc", "off", "--srt", "off"}
	for _, c := range []struct {
		args []string
		says string // the beginning of a line, then a part of it
		exit int
	}{
		{[]string{"--config", settings}, "record " + dir, ExitOK},
		{[]string{"--bans-file", file}, "problem  configuration: --bans-file: |" + file, ExitFailure},
		{[]string{"--event-hook", "http://127.0.0.1:1", "--event-spool", dir}, "event-spool " + dir, ExitOK},
		{[]string{"--event-hook", "http://127.0.0.1:1", "--event-spool", file}, "problem  event-spool " + file, ExitFailure},
	} {
		begin, part, _ := strings.Cut(c.says, "|")
		code, out, text := called(t, append(doctor, c.args...)...)
		if i := strings.Index(out, begin); code != c.exit || i < 0 || !strings.Contains(out[i:], part) {
			t.Errorf("%q: exit code %d, no %q in %s%s", c.args, code, c.says, out, text)
		}
	}
}
