//go:build linux

package realtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// A stream that is published gets two renditions by ffmpeg that
// can be watched. ffmpeg is started again when it is killed, and ends with the
// stream.
func TestRenditionsByFFmpeg(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	text := `streams:
  live/s:
    on-publish: >-
      ffmpeg -hide_banner -nostdin -loglevel warning -i ${SLUICE_URL} -threads 1 -c:v libx264 -preset ultrafast -tune zerolatency -g 25 -an
      -vf scale=96:-2 -f flv ${SLUICE_RTMP}/${SLUICE_APP}/${SLUICE_NAME}-96 -c:v copy -an -f flv ${SLUICE_RTMP}/${SLUICE_APP}/${SLUICE_NAME}-copy
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, flags("--grace 0 --config "+file))
	f := feedTo(t, publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv"), pace{})
	renditions := func() {
		t.Helper()
		for _, name := range []string{"live/s-96", "live/s-copy"} {
			s.awaitLive(t, name)
		}
		s.view(t, "rtmp", "s-96", "").awaitMedia(t, 10)
	}
	renditions()
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
	if list := pids(); len(list) != 1 {
		t.Fatalf("started: %v", list)
	}
	if err := syscall.Kill(pids()[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, lengthened(20*time.Second), func() string {
		if len(pids()) < 2 {
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
