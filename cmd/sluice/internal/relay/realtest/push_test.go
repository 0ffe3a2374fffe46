//go:build linux

package realtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
)

// A stream goes on to nginx-rtmp and to a second relay, where ffmpeg and a viewer get
// it. nginx is back within 5 s of its return. The key is in no list of processes, no
// log and no answer of the API.
func TestPushToNginx(t *testing.T) {
	t.Parallel()
	const key = "hunter2hunter2"
	address := loopback.Free(t)
	target := func() *process {
		return nginx(t, "ngx_rtmp_module.so", "rtmp { server { listen "+address+"; application live { live on; } } }\n", address)
	}
	other := target()
	second := serve(t, options{})
	o := flags("--grace 0 --push live/*=rtmp://" + address + "/live/${STREAM_KEY},live/*=rtmp://" + second.RTMP + "/live/copy-*")
	o.env = []string{"STREAM_KEY=" + key}
	s := serve(t, o)
	f := feedTo(t, publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv"), pace{})
	s.awaitLive(t, "live/s")
	second.awaitLive(t, "live/copy-s")
	pushes := func() (list []struct{ Target, State, Error string }) {
		var answer struct {
			Pushes []struct{ Target, State, Error string }
		}
		s.get(t, "/api/pushes", &answer)
		return answer.Pushes
	}
	live := func(within time.Duration) {
		t.Helper()
		eventually(t, within, func() string {
			list := pushes()
			if len(list) != 2 || list[0].State != "live" || list[1].State != "live" {
				return fmt.Sprintf("%+v", list)
			}
			return ""
		})
	}
	live(lengthened(10 * time.Second))
	v := second.view(t, "rtmp", "copy-s", "")
	watch := func() {
		t.Helper()
		p := ffmpeg(t, "-xerror", "-i", "rtmp://"+address+"/live/"+key, "-t", "2", "-f", "null", "-")
		if code := p.wait(t, lengthened(20*time.Second)); code != 0 {
			t.Errorf("ffmpeg at nginx ends with %d: %s", code, p.stderr.tail(10))
		}
	}
	watch()
	other.kill()
	other.wait(t, lengthened(5*time.Second))
	eventually(t, lengthened(10*time.Second), func() string {
		for _, p := range pushes() {
			if p.State == "waiting" && p.Error != "" {
				return ""
			}
		}
		return fmt.Sprintf("nginx is away: %+v", pushes())
	})
	target()
	back := lengthened(5 * time.Second)
	if repeats() {
		back = 5 * time.Second
	}
	live(back)
	watch()
	v.awaitMedia(t, 100) // which nginx's absence has cost nothing
	f.stop()
	checkRun(t, "a viewer of the second relay", v.media(), f.published())
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.PID))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(command) + fmt.Sprint(pushes()) + s.stderr.tail(1000); strings.Contains(text, key) {
		t.Errorf("the key is in %q", text)
	}
}
