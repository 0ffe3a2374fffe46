//go:build linux

package realtest

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// smallDisk mounts a disk of so many bytes, in memory, which only root may.
func smallDisk(t testing.TB, bytes int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Skipf("mounting a small disk: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
	})
	return dir
}

// fill takes all room, and returns what gives it back.
func fill(t testing.TB, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for page := make([]byte, 4096); err == nil; {
		_, err = f.Write(page)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// On a full disk viewers are served on, the log says which file is concerned, and what is in that
// plays and says its length. With room again another file is recorded.
func TestRecordingOntoAFullDisk(t *testing.T) {
	for _, format := range []string{"flv", "mp4"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			disk := smallDisk(t, 16<<20)
			dir := filepath.Join(disk, "recordings")
			s := serve(t, flags(fmt.Sprintf("--record-format %s --record %s --event-hook http://127.0.0.1:9/ --event-spool %s --bans-file %s", format, dir, filepath.Join(disk, "events"), filepath.Join(disk, "bans.json"))))
			files := func() []string {
				if format == "mp4" {
					return movies(t, dir)
				}
				return recordings(t, dir)
			}
			push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s", loop...)
			s.awaitLive(t, "live/s")
			v := s.view(t, "flv", "s", "")
			eventually(t, lengthened(15*time.Second), func() string {
				if list := files(); len(list) == 1 {
					if info, err := os.Stat(list[0]); err == nil && info.Size() > 100_000 {
						return ""
					}
				}
				return "little is recorded"
			})
			free := fill(t, disk)
			first := files()[0]
			eventually(t, lengthened(15*time.Second), func() string {
				if len(s.stderr.matches("recording failed.*"+filepath.Base(first)+".*no space left on device")) == 0 {
					return "the log does not say that the disk is full"
				}
				return ""
			})
			v.awaitMedia(t, len(v.media())+100)
			seconds, packets := probeMovie(t, first)
			if shown := float64(packets["video"]) / 30; packets["video"] == 0 || math.Abs(seconds-shown) > 0.2 {
				t.Errorf("%s says that it has %.2f s, and has %v packets", filepath.Base(first), seconds, packets)
			}
			free()
			eventually(t, lengthened(90*time.Second), func() string {
				list := files()
				if len(list) != 2 {
					return fmt.Sprintf("the recordings are %q", list)
				}
				for _, name := range list {
					if info, err := os.Stat(name); name != first && (err != nil || info.Size() < 100_000) {
						return "little is recorded since there is room again"
					}
				}
				return ""
			})
			v.awaitMedia(t, len(v.media())+10)
		})
	}
}

// A server starts on a full disk with what it has there, and bans that were made hold.
func TestStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 4<<20)
	in := func(name string) string { return filepath.Join(disk, name) }
	o := flags(fmt.Sprintf("--record %s --event-hook http://127.0.0.1:9/ --event-spool %s --bans-file %s", in("recordings"), in("events"), in("bans.json")))
	banned := func(s *server) bool {
		resp, err := apiClient.Get("http://" + s.HTTP + "/live/s.flv")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusForbidden
	}
	s := serve(t, o)
	s.api(t, http.MethodPost, "/api/bans?by=address&value=127.0.0.1&for=1h").Body.Close()
	if !banned(s) {
		t.Fatal("the ban does not hold")
	}
	s.stop(t)
	free := fill(t, disk)
	s = serve(t, o)
	if !banned(s) {
		t.Error("on a full disk the ban does not hold")
	}
	if len(s.stderr.matches("level=ERROR.*bans.json.*no space left on device")) == 0 {
		t.Error("the log does not say that bans cannot be saved")
	}
	s.api(t, http.MethodPost, "/api/bans?by=address&value=192.0.2.7&for=1h").Body.Close()
	free()
	s.stop(t)
	var list struct{ Bans []struct{ Value string } }
	serve(t, o).get(t, "/api/bans", &list)
	if len(list.Bans) != 2 {
		t.Errorf("the bans are %+v", list)
	}
}
