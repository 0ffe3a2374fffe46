package relay

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/rtmp"
)

// The limit for frames is the same for every protocol, and a peer that sends a
// longer frame gets the name of the setting.
func TestMaxFrame(t *testing.T) {
	const limit = 5 << 20
	s := rtmpServe(t, func(c *relayConfig) { c.MaxFrame = limit })
	frame := func(n int) rtmpFrame {
		return rtmpFrame{Type: flv.TagVideo, Body: "\x12\x01\x00\x00\x00" + strings.Repeat("x", n-5)}
	}
	said := func(t *testing.T, text string) {
		t.Helper()
		if !strings.Contains(text, "max-frame") || !strings.Contains(text, fmt.Sprint(limit)) {
			t.Errorf("the publisher is told %q", text)
		}
	}
	t.Run("rtmp", func(t *testing.T) {
		x := rtmpPush(t, s, "rtmp", "live", "r")
		if err := x.send([]rtmpFrame{frame(limit)}); err != nil {
			t.Fatal(err)
		}
		rtmpUntil(t, "the longest frame is there", func() bool {
			st, ok := s.host.Hub.Stream("live/r")
			return ok && st.Stats().BytesIn == limit
		})
		sent := make(chan error, 1)
		go func() { sent <- x.send([]rtmpFrame{frame(limit + 1)}) }()
		for {
			m, err := x.c.ReadMessage()
			if err != nil {
				t.Fatalf("no word before the end: %v", err)
			}
			if m.Type != rtmp.TypeCommandAMF0 {
				m.Release()
				continue
			}
			c, err := rtmp.ParseCommand(m)
			m.Release()
			if err != nil {
				t.Fatal(err)
			}
			if _, _, description, ok := c.Status(); ok {
				said(t, description)
				break
			}
		}
		<-sent
	})
	t.Run("rtmp, metadata", func(t *testing.T) {
		x := rtmpPush(t, s, "rtmp", "live", "m")
		body := "\x02\x00\x0aonMetaData\x0c\x00\x20\x00\x00" + strings.Repeat("x", 2<<20)
		if err := x.send([]rtmpFrame{{Type: flv.TagScript, Body: body}}); err != nil {
			t.Fatal(err)
		}
		rtmpUntil(t, "long metadata is there", func() bool {
			st, ok := s.host.Hub.Stream("live/m")
			return ok && st.Stats().BytesIn == int64(len(body))
		})
		x.close()
	})
	for _, chunked := range []bool{false, true} {
		t.Run(fmt.Sprintf("http, chunked %v", chunked), func(t *testing.T) {
			name := fmt.Sprintf("http://%s/live/h%v.flv", s.Addresses()["http"], chunked)
			var whole, long bytes.Buffer
			for b, n := range map[*bytes.Buffer]int{&whole: limit, &long: limit + 1} {
				b.Write(flvtest.Header)
				b.Write(flv.TagHeader{Type: flv.TagVideo, Size: n}.Append(nil))
				b.WriteString(frame(n).Body)
				size := uint32(n + flv.TagHeaderLen)
				b.Write([]byte{byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size)})
			}
			for body, status := range map[*bytes.Buffer]int{&whole: http.StatusOK, &long: http.StatusRequestEntityTooLarge} {
				var r io.Reader = body
				if chunked {
					r = io.MultiReader(body)
				}
				resp, err := (&http.Client{Timeout: relayWait}).Post(name, "video/x-flv", r)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != status {
					t.Errorf("%d %s, %v", resp.StatusCode, text, err)
				}
				if status != http.StatusOK {
					said(t, string(text))
				}
			}
		})
	}
}
