package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// called runs the program and returns what it printed.
func called(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = App{Stdout: &out, Stderr: &err}.Main(args)
	return code, out.String(), err.String()
}

func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Everything that is wrong is said at once, with its place.
func TestConfigCheck(t *testing.T) {
	name := written(t, "http: \":80\"\nport: 80\nmerge: soon\n  \n\"grace\": -1s\n")
	code, out, text := called(t, "config", "check", name)
	if code != ExitFailure || out != "" {
		t.Errorf("exit code %d, %q", code, out)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines: %s", len(lines), text)
	}
	for i, want := range []string{":2:1: unknown key \"port\"", ":3:1: merge: ", ":5:1: grace: "} {
		if !strings.HasPrefix(lines[i], name+want) {
			t.Errorf("%q, want %q", lines[i], name+want)
		}
	}
	for text, want := range map[string]int{"http: \":80\"\n": ExitOK, "": ExitOK, "rtmp: off\nhttp: off\nrtsp: off\nsrt: off\n": ExitFailure, "protect: publish\n": ExitFailure} {
		if code, _, said := called(t, "config", "check", written(t, text)); code != want {
			t.Errorf("%q: exit code %d: %s", text, code, said)
		}
	}
	// What is found out only when it is used, and what is no YAML, has its place too.
	damaged, dir := written(t, "junk"), t.TempDir()
	for text, says := range map[string]string{
		"grace: 1s\npush: live/*=rtmp://host\n":                                     ":2:1: push: not a target",
		"streams:\n  live/*:\n    push: rtmp://host\n":                              ":3:5: push: ",
		"source: [\"a b/c=rtsp://host/1\"]\n":                                       ":1:1: source: ",
		"source: live/x=rtsp://host:99999999/1\n":                                   ":1:1: source: ",
		"source: live/x=srt://host:99999999\n":                                      ":1:1: source: ",
		"origin: http://host:99999999\n":                                            ":1:1: origin: ",
		"streams:\n  live/../x: {grace: 2s}\n":                                      ":2:3: pattern: ",
		"push: live/../x=rtmp://host/app/x\n":                                       ":1:1: push: ",
		"rtsp-udp: \":8001\"\n":                                                     ":1:1: rtsp-udp: ",
		"rtmps: \":1936\"\ncert: none.pem\nkey: none.pem\n":                         ":2:1: cert: ",
		"bans-file: " + damaged + "\n":                                              ":1:1: bans-file: access: file of bans: " + damaged,
		"bans-file: /dev/null/none/bans\n":                                          ":1:1: bans-file: access: file of bans: /dev/null/none/bans",
		"grace: 1s\nrecord: " + damaged + "\n":                                      ":2:1: record: mkdir " + damaged + ": not a directory",
		"streams:\n  live/*:\n    record: " + damaged + "\n":                        ":3:5: record: mkdir ",
		"record: " + dir + "/a\nstreams:\n  live/*:\n    record: " + dir + "/a/b\n": ":4:5: record: " + dir + "/a/b and " + dir + "/a: ",
		"event-hook: http://127.0.0.1:9\nevent-spool: " + damaged + "\n":            ":2:1: event-spool: mkdir ",
		"allow-play: [300.1.1.1]\n":                                                 ":1:1: allow-play: \"300.1.1.1\" is neither",
		"grace: 1s\ngrace: 2s\n":                                                    ":2:1: ",
		"grace: [1s\n":                                                              ":1:8: ",
	} {
		name := written(t, text)
		if code, _, said := called(t, "config", "check", name); code != ExitFailure || !strings.HasPrefix(said, name+says) || strings.Count(said, "\n") != 1 {
			t.Errorf("%q: exit code %d: %s", text, code, said)
		}
	}
	if code, _, _ := called(t, "config", "check", filepath.Join(t.TempDir(), "none")); code != ExitFailure {
		t.Errorf("no file: exit code %d", code)
	}
	if code, _, _ := called(t, "config", "check"); code != ExitUsage {
		t.Errorf("no argument: exit code %d", code)
	}
}

// What show prints says where each setting is from, can be read back, and has no secret.
func TestConfigShow(t *testing.T) {
	t.Setenv("SLUICE_GRACE", "7s")
	t.Setenv("SLUICE_API_TOKEN", "the-token-that-is-not-shown")
	name := written(t, "max-streams: 12\nallow-publish: [127.0.0.1, \"10.0.0.0/8\"]\n")
	code, out, text := called(t, "config", "show", "--config", name, "--merge=40ms", "--merge-adapt=false")
	if code != ExitOK || text != "" {
		t.Fatalf("exit code %d, %s", code, text)
	}
	for setting, from := range map[string]string{
		"max-streams: 12": name + ":1:1", "grace: 7s": "$SLUICE_GRACE", "merge: 40ms": "--merge", "merge-adapt: false": "--merge-adapt",
		"http: :8080": "default", "allow-publish: 127.0.0.1,10.0.0.0/8": name + ":2:1",
	} {
		found := false
		for line := range strings.Lines(out) {
			value, comment, _ := strings.Cut(line, " # ")
			if strings.TrimSpace(value) == setting && strings.TrimSpace(comment) == from {
				found = true
			}
		}
		if !found {
			t.Errorf("no %q from %q in\n%s", setting, from, out)
		}
	}
	if strings.Contains(out, "not-shown") || !strings.Contains(out, "# SLUICE_API_TOKEN: set") {
		t.Error(out)
	}
	t.Setenv("SLUICE_GRACE", "")
	code, again, text := called(t, "config", "show", "--config", written(t, out))
	if code != ExitOK || strip(again) != strip(out) {
		t.Errorf("read back: %d, %s\n%s", code, text, again)
	}
}

// Sections are printed so that they can be read back, and with --stream are in what is
// in force.
func TestConfigShowOfAStream(t *testing.T) {
	name := written(t, "grace: 1s\nstreams:\n  live/*: {grace: 2s, gop: false, push: rtmp://a.example/x/*}\n  \"*1\": {grace: 3s}\n")
	code, out, text := called(t, "config", "show", "--config", name)
	if code != ExitOK || !strings.Contains(out, "grace: 1s ") {
		t.Fatalf("exit code %d, %s%s", code, out, text)
	}
	code, again, text := called(t, "config", "show", "--config", written(t, out))
	if code != ExitOK || strip(again) != strip(out) {
		t.Errorf("read back: %d, %s\n%s", code, text, again)
	}
	for stream, want := range map[string][]string{
		"live/cam1": {"grace: 3s ", name + ":4:10", "gop: false ", name + ":3:23", "push: live/*=rtmp://a.example/x/* "},
		"live/cam2": {"grace: 2s ", name + ":3:12"},
		"app/x":     {"grace: 1s ", name + ":1:1", "gop: true "},
	} {
		code, out, text := called(t, "config", "show", "--config", name, "--stream", stream)
		if code != ExitOK || strings.Contains(out, "\nstreams:") {
			t.Errorf("exit code %d, %s%s", code, out, text)
		}
		for _, part := range want {
			if !strings.Contains(out, part) {
				t.Errorf("%s: no %q in %s", stream, part, out)
			}
		}
	}
}

// A stream whose settings are asked for has a name that can be published.
func TestConfigShowOfNoStream(t *testing.T) {
	for _, name := range []string{"bad//x", "live", "live/../x", "live/*"} {
		if code, out, text := called(t, "config", "show", "--stream", name); code != ExitUsage || out != "" || !strings.Contains(text, "stream name") {
			t.Errorf("%s: exit code %d, %s%s", name, code, out, text)
		}
	}
}

// strip takes comments out.
func strip(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		value, _, _ := strings.Cut(line, " # ")
		if !strings.HasPrefix(value, "#") {
			b.WriteString(strings.TrimSpace(value) + "\n")
		}
	}
	return b.String()
}
