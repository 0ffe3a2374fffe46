package relay

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
)

// published is a viewer of a show of which so many frames are out.
func published(t *testing.T, n int) *viewer {
	t.Helper()
	s := &show{clip: testClip(t)}
	for i := range n {
		s.publish(time.Duration(i) * time.Millisecond)
	}
	return &viewer{show: s, tally: &tally{to: time.Hour}, look: true}
}

// play hands a frame to a viewer.
func play(v *viewer, n int) error {
	tag, at := v.show.clip.at(n)
	return v.take(tag.Kind, at, tag.Payload)
}

func TestAViewerCountsWhatIsMissing(t *testing.T) {
	const n, first = 1500, 20 // twice around the clip
	v := published(t, n)
	ends, missing := v.show.ends(), 0
	for i := first; i < n; i++ {
		v.tally.now = time.Duration(i+3) * time.Millisecond
		if i%100 == 50 || i == n-1 {
			missing++
			continue
		}
		if err := play(v, i); err != nil {
			t.Fatal(err)
		}
	}
	if got := v.lost(ends); got != missing {
		t.Errorf("%d frames are missing, %d were left out", got, missing)
	}
	if got := v.tally.delivered; got != n-first-missing || len(v.tally.lags) != got || v.tally.lags[got/2] != 3*time.Millisecond {
		t.Errorf("%d frames delivered of %d", got, n-first-missing)
	}
	if v.key == 0 {
		t.Error("there was no key frame")
	}
	if !v.behind(ends) {
		t.Error("the last frame is missing, and nothing is behind")
	}
}

func TestAViewerNoticesWhatWasNotPublished(t *testing.T) {
	for name, try := range map[string]func(v *viewer) error{
		"again":       func(v *viewer) error { return play(v, 10) },
		"not out yet": func(v *viewer) error { return play(v, 50) },
		"another size": func(v *viewer) error {
			tag, at := v.show.clip.at(11)
			return v.take(tag.Kind, at, append(bytes.Clone(tag.Payload), 0))
		},
		"another time": func(v *viewer) error {
			tag, at := v.show.clip.at(11)
			return v.take(tag.Kind, at+1, tag.Payload)
		},
	} {
		v := published(t, 50)
		if err := errors.Join(play(v, 10), try(v)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if v.tally.oddities != 1 || v.tally.oddity == "" || v.tally.delivered != 1 {
			t.Errorf("%s: %d oddities, %q, %d frames delivered", name, v.tally.oddities, v.tally.oddity, v.tally.delivered)
		}
	}
	v := published(t, 50)
	tag, at := v.show.clip.at(11)
	wrong := bytes.Clone(tag.Payload)
	wrong[len(wrong)-1] ^= 1
	if err := errors.Join(play(v, 10), v.take(tag.Kind, at, wrong)); !errors.Is(err, ErrStream) {
		t.Errorf("another byte: %v", err)
	}
	// What sets up the decoder may come at any time, as often as it likes.
	v = published(t, 50)
	for _, h := range v.show.clip.Head {
		if err := v.take(h.Kind, 99, h.Payload); err != nil {
			t.Error(err)
		}
	}
	if v.tally.delivered != 0 || v.tally.oddities != 0 {
		t.Error("a sequence header is counted as a frame")
	}
}

// TestWhatIsNoStreamIsRefused has a server answer every connection with the same bytes.
func TestWhatIsNoStreamIsRefused(t *testing.T) {
	addr := startFloor(t, RTMP, 0)
	for name, answer := range map[string]string{
		"not found": "HTTP/1.1 404 Not Found\r\n\r\n",
		"chunked":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"no file":   "HTTP/1.1 200 OK\r\n\r\n<html></html>" + strings.Repeat(" ", 20),
		"endless":   strings.Repeat("x", 1<<20),
		"a bad tag": "HTTP/1.1 200 OK\r\n\r\n" + string(flv.Header{Video: true}.Append(nil)) + "\x00\x00\x00\x00\x12\xFF\xFF\xFF\x00\x00\x00\x00\x00\x00\x01",
	} {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				io.WriteString(conn, answer)
				conn.Close()
			}
		}()
		if _, err := runLoad(t, Work{Publish: addr, View: l.Addr().String(), Form: FLV, Viewers: 1, Window: time.Second}); err == nil {
			t.Errorf("%s is taken for a stream", name)
		}
		l.Close()
	}
}
