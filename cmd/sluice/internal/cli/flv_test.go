package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/flvclip"
)

// flvProbe runs sluice flv probe on bytes in a file.
func flvProbe(t *testing.T, content []byte, args ...string) (p *program, exit int) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "some.flv")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return run(t, append(append([]string{"flv", "probe"}, args...), name)...)
}

func TestFLVProbeSaysWhatIsInAFile(t *testing.T) {
	p, exit := flvProbe(t, flvclip.File)
	text := p.stdout.String()
	if exit != ExitOK || p.stderr.Len() > 0 {
		t.Errorf("exit code %d, %s", exit, p.stderr.String())
	}
	for _, want := range []string{"avc1, 640x360", "30 frames/s", "300 packets", "5 key frames", "mp4a, 44100 Hz, 1 channel", "432 packets", "onMetaData", "no problems"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q:\n%s", want, text)
		}
	}
}

// flvReport is what programs read in the report.
type flvReport struct {
	File  string
	Video struct {
		Codec         string
		Packets       int
		Width, Height int
		KeyFrames     int `json:"key_frames"`
	}
	Audio     struct{ Packets int }
	Script    struct{ Metadata map[string]any }
	Truncated *struct{ Offset, Bytes int }
	Problems  []string
}

func TestFLVProbeAsJSON(t *testing.T) {
	p, exit := flvProbe(t, flvclip.File, "--json")
	var got flvReport
	if err := json.Unmarshal(p.stdout.Bytes(), &got); err != nil || exit != ExitOK {
		t.Fatalf("exit code %d, %v: %s%s", exit, err, p.stdout.String(), p.stderr.String())
	}
	if got.Video.Codec != "avc1" || got.Video.Packets != 300 || got.Audio.Packets != 432 || got.Video.Width != 640 || got.Video.Height != 360 || got.Video.KeyFrames != 5 {
		t.Errorf("%+v", got)
	}
	if got.Script.Metadata["duration"] != 10.067 || got.Truncated != nil || got.Problems == nil || len(got.Problems) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestFLVProbeOfStandardInput(t *testing.T) {
	p := newProgram(t, "flv", "probe", "-")
	p.Stdin = bytes.NewReader(flvclip.File)
	if exit := code(t, p.Run()); exit != ExitOK || !strings.Contains(p.stdout.String(), "300 packets") {
		t.Errorf("exit code %d: %s%s", exit, p.stdout.String(), p.stderr.String())
	}
}

func TestFLVProbeOfACutFileHasExitCode3(t *testing.T) {
	p, exit := flvProbe(t, flvclip.File[:200_000])
	if exit != ExitUnusable || !strings.Contains(p.stdout.String(), "ends inside the tag at byte 198887") || !strings.Contains(p.stdout.String(), "56 packets") {
		t.Errorf("exit code %d: %s%s", exit, p.stdout.String(), p.stderr.String())
	}
	p, exit = flvProbe(t, flvclip.File[:200_000], "--json")
	var got flvReport
	if err := json.Unmarshal(p.stdout.Bytes(), &got); err != nil || exit != ExitUnusable || got.Truncated == nil || len(got.Problems) != 1 {
		t.Errorf("exit code %d, %v: %s", exit, err, p.stdout.String())
	}

	broken := bytes.Clone(flvclip.File)
	copy(broken[198887:], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff") // where a tag begins
	p, exit = flvProbe(t, broken)
	if exit != ExitUnusable || !strings.Contains(p.stdout.String(), "56 packets") || !strings.Contains(p.stderr.String(), "byte 198887") {
		t.Errorf("exit code %d: %s%s", exit, p.stdout.String(), p.stderr.String())
	}
	if report := p.stdout.String(); strings.Contains(report, "no problems") || !strings.Contains(report, "problem: syntax error: a tag of type 0xff, at byte 198887") {
		t.Errorf("the report on a file that stops being FLV: %s", report)
	}
}

func TestFLVProbeOfWhatIsNoFLVHasExitCode1(t *testing.T) {
	for _, content := range []string{"", "FL", "no FLV at all, but a text", "FLV\x01\x05\x00\x00\xff\xff"} {
		p, exit := flvProbe(t, []byte(content))
		if exit != ExitFailure || p.stdout.Len() > 0 || strings.Count(p.stderr.String(), "\n") != 1 || !strings.Contains(p.stderr.String(), "some.flv") {
			t.Errorf("%q: exit code %d: %s%s", content, exit, p.stdout.String(), p.stderr.String())
		}
	}
	p, exit := run(t, "flv", "probe", "no/such/file.flv")
	if exit != ExitFailure || !strings.Contains(p.stderr.String(), "no/such/file.flv") {
		t.Errorf("exit code %d: %s", exit, p.stderr.String())
	}
}

func TestFLVWrongCommandLines(t *testing.T) {
	for line, says := range map[string]string{
		"flv nosuch": "nosuch", "flv probe": "one file", "flv probe a b": "one file", "flv probe --frobnicate a": "frobnicate",
	} {
		p, exit := run(t, strings.Fields(line)...)
		if exit != ExitUsage || p.stdout.Len() > 0 || strings.Count(p.stderr.String(), "\n") != 1 || !strings.Contains(p.stderr.String(), says) {
			t.Errorf("%s: exit code %d: %s%s", line, exit, p.stdout.String(), p.stderr.String())
		}
	}
	for _, line := range []string{"flv --help", "flv", "flv probe --help", "help flv probe"} {
		p, exit := run(t, strings.Fields(line)...)
		_, examples, ok := strings.Cut(p.stdout.String(), "Examples:\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		if exit != ExitOK || !ok || strings.Count(strings.TrimSpace(examples), "\n") != 0 {
			t.Errorf("%q: exit code %d, examples %q", line, exit, examples)
		}
	}
}
