//go:build linux

package realtest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// renditionsOfDocs is the example of renditions in the documentation, for small pictures that
// are quickly encoded.
func renditionsOfDocs(t *testing.T) (text string, names []string) {
	t.Helper()
	page, err := os.ReadFile("../../../../../docs/relay.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```yaml\nhls-group:")
	text, _, closed := strings.Cut("hls-group:"+text, "```")
	if !found || !closed {
		t.Fatal("the documentation has no example of renditions")
	}
	for _, m := range regexp.MustCompile(`small/\$\{SLUICE_NAME\}(-\d+)`).FindAllStringSubmatch(text, -1) {
		names = append(names, "small/s"+m[1])
	}
	return strings.NewReplacer(
		"scale=-2:720", "scale=-2:144", "scale=-2:480", "scale=-2:96", "scale=-2:240", "scale=-2:64",
		"-b:v", "-threads 1 -preset ultrafast -tune zerolatency -b:v", "-g 50", "-g 25",
	).Replace(text), names
}

// checkVariants checks that HLS offers three variants of different sizes under a name, and
// that ffmpeg plays each.
func checkVariants(t *testing.T, s *server, name string) {
	t.Helper()
	base := "http://" + s.HTTP + "/" + name + ".m3u8"
	var text string
	eventually(t, lengthened(10*time.Second), func() string { // a rendition that lives may have had sound alone
		s.get(t, "/"+name+".m3u8", &text)
		sizes := map[string]bool{}
		for _, m := range regexp.MustCompile(`RESOLUTION=(\d+x\d+)`).FindAllStringSubmatch(text, -1) {
			sizes[m[1]] = true
		}
		if len(sizes) != 3 {
			return fmt.Sprintf("variants of %d sizes: %s", len(sizes), text)
		}
		return ""
	})
	var players []*process
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		u, err := url.Parse(base)
		if err == nil {
			u, err = u.Parse(line)
		}
		if err != nil {
			t.Fatal(err)
		}
		players = append(players, ffmpeg(t, "-xerror", "-i", u.String(), "-t", "1", "-f", "null", "-"))
	}
	if len(players) != 3 {
		t.Fatalf("%d variants: %s", len(players), text)
	}
	for _, p := range players {
		if code := p.wait(t, lengthened(30*time.Second)); code != 0 {
			t.Errorf("ffmpeg ends with %d: %s", code, p.stderr.tail(10))
		}
	}
}

// A stream that is published gets three renditions by ffmpeg, as the documentation has
// it: each can be watched, HLS offers all of them under one name, and the page plays that. ffmpeg
// is started again when it is killed, and ends with the stream.
func TestRenditionsByFFmpeg(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	text, names := renditionsOfDocs(t)
	if len(names) != 3 {
		t.Fatalf("renditions %q", names)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, flags("--grace 0 --config "+file))
	f := feedTo(t, publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv"), pace{})
	renditions := func() {
		t.Helper()
		for _, name := range names {
			s.awaitLive(t, name)
		}
	}
	renditions()
	checkVariants(t, s, "small/s")
	ctx, _, faults := browse(t)
	openPageOf(t, ctx, s, "small/s", "hls")
	pageMoves(t, ctx)
	if height := evaluate[int](t, ctx, `document.getElementById("video").videoHeight`); height != 144 && height != 96 && height != 64 {
		t.Errorf("the page's picture is %d high", height)
	}
	if f := faults(); len(f) > 0 {
		t.Errorf("the page fails with %q", f)
	}
	started := regexp.MustCompile(`msg="command started".* pid=(\d+)`)
	pids := func() (list []int) {
		for _, m := range started.FindAllStringSubmatch(s.stderr.String(), -1) {
			pid, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, pid)
		}
		return list
	}
	list := pids() // on a machine without time for it ffmpeg ends by itself, and may just do so
	if err := syscall.Kill(list[len(list)-1], syscall.SIGKILL); err != nil && err != syscall.ESRCH {
		t.Fatal(err)
	}
	eventually(t, lengthened(20*time.Second), func() string {
		if len(pids()) <= len(list) {
			return "it was not started again"
		}
		return ""
	})
	renditions()
	f.stop()
	eventually(t, lengthened(10*time.Second), func() string {
		list := pids()
		if syscall.Kill(list[len(list)-1], 0) == nil {
			return "ffmpeg still runs"
		}
		if list := s.streams(t); len(list) > 0 {
			return fmt.Sprintf("%+v", list)
		}
		return ""
	})
}
